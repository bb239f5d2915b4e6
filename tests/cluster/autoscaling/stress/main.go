// Command stress holds memory for a while, with the arguments that resource-consumer gives to Debian's program of this name:
//
//	stress -m 1 --vm-bytes 250M --vm-hang 0 -t SECONDS
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	_ = flag.Int("m", 1, "workers; one is all there is")
	_ = flag.Int("vm-hang", 0, "seconds between allocations; 0 is never again")
	size := flag.String("vm-bytes", "", "megabytes, as 250M")
	seconds := flag.Int("t", 0, "how long")
	flag.Parse()
	megabytes, err := strconv.Atoi(strings.TrimSuffix(*size, "M"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "stress: --vm-bytes:", err)
		os.Exit(2)
	}
	held := make([]byte, megabytes<<20)
	for page := 0; page < len(held); page += 4096 {
		held[page] = 1
	}
	time.Sleep(time.Duration(*seconds) * time.Second)
	fmt.Println("held", len(held), "bytes")
}
