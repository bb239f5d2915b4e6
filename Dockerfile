# podfit as one program and the few libraries it loads: no shell, no package manager.
# Build: docker build -t podfit --build-arg VERSION=0.1.0 .
ARG DENO_VERSION=2.9.6
ARG DENO_IMAGE=denoland/deno:${DENO_VERSION}

FROM ${DENO_IMAGE} AS build
WORKDIR /src
COPY deno.json deno.lock main.ts ./
COPY crds crds
COPY deploy/demo deploy/demo
COPY lib lib
# Bundled first: else all files of all packages would be embedded. For a browser: packages then come as modules that need
# no createRequire of Node, which costs the running daemon 6 MiB; nothing else differs. In chunks: the daemon loads no demo.
# The heap of V8 may grow by 30 % before it is cleaned up, not double: at 30,000 pods a quarter less memory for a third
# more CPU. One thread does the small collections: several spend more in all than they save.
RUN deno bundle --frozen --platform browser --code-splitting --outdir bundle main.ts \
  && deno compile --frozen --permission-set=daemon --v8-flags=--no-parallel-scavenge,--heap-growing-percent=30 \
    --output /podfit bundle/main.js
# The program is linked dynamically: glibc, libgcc and their loader come along, under the paths it looks at.
RUN mkdir -p /rootfs/tmp && chmod 1777 /rootfs/tmp && cp /podfit /rootfs/podfit \
  && ldd /podfit | grep -o '/[^ ]*' | xargs -I{} cp --parents --dereference {} /rootfs

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="podfit" \
  org.opencontainers.image.description="Resizes the containers of running pods in place, by their usage" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}"
COPY --from=build /rootfs /
# The heap limit follows the container's memory limit; the root file system may be read-only with a writable /tmp.
ENV DENO_USE_CGROUPS=1 DENO_DIR=/tmp/deno NO_COLOR=1
USER 65532:65532
ENTRYPOINT ["/podfit"]
CMD ["--log-format", "json"]
