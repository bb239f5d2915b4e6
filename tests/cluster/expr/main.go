// Answers questions about formulas, schedules and numbers with the code that KEDA 2.21.0 runs on. JSON lines in, JSON lines out, in the same order.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A question has one of Formula, Cron, Start, Number, Quantity and Text.
type question struct {
	Formula  *string
	Names    []string
	Values   []map[string]*float64
	Cron     *string
	Start    *string
	End      string
	Timezone string
	Times    []int64 // epoch milliseconds
	Number   *string // a double as text
	Quantity *string
	Text     *string
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(answer(q)); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

func answer(q question) any {
	switch {
	case q.Formula != nil:
		return runFormula(*q.Formula, q.Names, q.Values)
	case q.Cron != nil:
		return nextTimes(*q.Cron, q.Timezone, q.Times)
	case q.Start != nil:
		return withinTimes(*q.Start, q.End, q.Timezone, q.Times)
	case q.Number != nil:
		return roundNumber(*q.Number)
	case q.Quantity != nil:
		return readQuantity(*q.Quantity)
	default:
		return readText(*q.Text)
	}
}

type refusal struct{ Error string }

// As pkg/scalers/cron_scaler.go parses them.
func parseCron(text string) (schedule cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
}

func nextTimes(text, timezone string, times []int64) any {
	schedule, err := parseCron(text)
	if err != nil {
		return refusal{err.Error()}
	}
	location, err := time.LoadLocation(timezone)
	if err != nil {
		return refusal{err.Error()}
	}
	next := []*int64{}
	for _, ms := range times {
		var found *int64
		if at := schedule.Next(time.UnixMilli(ms).In(location)); !at.IsZero() {
			ms := at.UnixMilli()
			found = &ms
		}
		next = append(next, found)
	}
	return struct{ Next []*int64 }{next}
}

// As cronScaler.GetMetricsAndActivity decides, at a given time.
func withinTimes(start, end, timezone string, times []int64) any {
	startSchedule, err := parseCron(start)
	if err != nil {
		return refusal{err.Error()}
	}
	endSchedule, err := parseCron(end)
	if err != nil {
		return refusal{err.Error()}
	}
	location, err := time.LoadLocation(timezone)
	if err != nil {
		return refusal{err.Error()}
	}
	within := []bool{}
	for _, ms := range times {
		now := time.UnixMilli(ms).In(location)
		nextStart, nextEnd := startSchedule.Next(now), endSchedule.Next(now)
		if nextStart.Before(nextEnd) {
			within = append(within, now.After(nextStart) && now.Before(nextEnd))
		} else {
			within = append(within, now.After(nextStart) || now.Before(nextEnd))
		}
	}
	return struct{ Within []bool }{within}
}

// As quantityFromFloat64() of pkg/scalers/scaler.go, and as the quantity is read back and a formula's result is cut.
func roundNumber(text string) any {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return refusal{err.Error()}
	}
	quantity := resource.MustParse(fmt.Sprintf("%.3f", value))
	return struct{ Milli, Double, Cut string }{
		strconv.FormatInt(quantity.MilliValue(), 10),
		formatFloat(quantity.AsApproximateFloat64()),
		strconv.FormatInt(int64(value*1000), 10),
	}
}

func readQuantity(text string) any {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return refusal{err.Error()}
	}
	return struct{ Milli, Double string }{
		strconv.FormatInt(quantity.MilliValue(), 10),
		formatFloat(quantity.AsApproximateFloat64()),
	}
}

// Each as text; null where it is refused.
func readText(text string) any {
	var got struct{ Float, Integer, Short, Boolean, JSONNumber, JSONInteger *string }
	if value, err := strconv.ParseFloat(text, 64); err == nil {
		got.Float = said(formatFloat(value))
	}
	if value, err := strconv.ParseInt(text, 10, 64); err == nil {
		got.Integer = said(strconv.FormatInt(value, 10))
	}
	if value, err := strconv.ParseInt(text, 10, 32); err == nil {
		got.Short = said(strconv.FormatInt(value, 10))
	}
	if value, err := strconv.ParseBool(text); err == nil {
		got.Boolean = said(strconv.FormatBool(value))
	}
	var number float64
	if json.Unmarshal([]byte(text), &number) == nil && text != "null" {
		got.JSONNumber = said(formatFloat(number))
	}
	var integer int64
	if json.Unmarshal([]byte(text), &integer) == nil && text != "null" {
		got.JSONInteger = said(strconv.FormatInt(integer, 10))
	}
	return got
}

func said(text string) *string { return &text }

func formatFloat(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }
