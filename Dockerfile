# The image of `deno task image`, where Docker is: the same files, since the same tool gathers them. No shell, no package
# manager, nothing that can be written.
#   docker build -t podfit .
# Or podfit as one program by `deno compile`, whose runtime is smaller and comes from dl.deno.land:
#   docker build -t podfit --target compiled .
# It has no /podfit/deno: install the chart with narrowPermissions=false.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
# npm checks the package. tools/image/pins.json has the checksums of the runtime and of each C library, and any other ends the build.
ARG DENO_VERSION=2.9.6
RUN npm install --global deno@${DENO_VERSION}
WORKDIR /src
COPY deno.json deno.lock main.ts LICENSE ./
COPY crds crds
COPY deploy/demo deploy/demo
COPY lib lib
COPY tools tools
# --build-arg COMMIT=$(git rev-parse HEAD): shown by the metric podfit_build_info.
ARG COMMIT=
RUN DENO_NO_UPDATE_CHECK=1 deno run --quiet --frozen -P=dev tools/image/fetch.ts /libraries \
  && DENO_NO_UPDATE_CHECK=1 deno run --quiet --frozen -P=dev \
    tools/image/main.ts --libraries /libraries --rootfs /rootfs --commit="$COMMIT"

FROM build AS compile
# Bundled first: otherwise all files of all packages would be embedded. Without the demo, as the image of tools/image.
RUN deno bundle --frozen --platform browser --code-splitting --external ./demo/demo.ts --outdir bundle main.ts \
  && sed -i "s/\bCOMMIT = \"unknown\"/COMMIT = \"${COMMIT:-unknown}\"/" bundle/*.js \
  && deno compile --frozen --permission-set=daemon --v8-flags=--no-parallel-scavenge,--heap-growing-percent=30,--max-semi-space-size=8,--page-promotion-threshold=10,--no-allocation-site-pretenuring,--memory-reducer-delay-ms=60000 \
    --output /compiled/podfit/podfit bundle/main.js \
  && cp -a /rootfs/etc /rootfs/lib* /compiled/ && cp -a /rootfs/podfit/notices /compiled/podfit/

FROM scratch AS image
LABEL org.opencontainers.image.title="podfit" \
  org.opencontainers.image.description="Resizes the containers of running pods in place, by their usage" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="0.1.0"
# What each is for stands in tools/image/facts.ts, with which a test compares this.
ENV DENO_DIR=/podfit/cache \
  DENO_NO_UPDATE_CHECK=1 \
  DENO_USE_CGROUPS=1 \
  DENO_V8_FLAGS=--no-parallel-scavenge,--heap-growing-percent=30,--max-semi-space-size=8,--page-promotion-threshold=10,--no-allocation-site-pretenuring,--memory-reducer-delay-ms=60000 \
  MALLOC_MMAP_THRESHOLD_=32768 \
  MALLOC_TRIM_THRESHOLD_=65536 \
  NO_COLOR=1
USER 65532:65532
WORKDIR /
EXPOSE 8080
ENTRYPOINT ["/podfit/podfit"]
# Without arguments a container is the daemon.
CMD ["run"]

FROM image AS compiled
COPY --from=compile /compiled /

FROM image
COPY --from=build /rootfs /
