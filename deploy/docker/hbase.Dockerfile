# syntax=docker/dockerfile:1
# HBase with its Thrift gateway and its shell, one role a container. From the root of the checkout:
#
#   docker build -f deploy/docker/hbase.Dockerfile -t pigeonhole-hbase .
#
# `run gateway --conf DIR` is what production may need of it, where the programs cannot ask HBase themselves: the gateway beside a
# worker, to an HBase elsewhere. `run server` is an HBase for trials: one process, one copy of the data; with `--hostname NAME` for
# other containers, which find it by that name.

FROM debian:bookworm-slim AS jars
RUN apt-get update \
    && apt-get install -y --no-install-recommends maven openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*
COPY deploy/hbase /opt/pigeonhole/deploy/hbase
RUN /opt/pigeonhole/deploy/hbase/hbase fetch --data /tmp/hbase --cache /opt/hbase-jars

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*
COPY --from=jars /opt/hbase-jars /opt/hbase-jars
COPY deploy/hbase /opt/pigeonhole/deploy/hbase
COPY schema /opt/pigeonhole/schema
# Java's log-in, which Hadoop goes through, fails where the user has no name.
RUN groupadd -g 10002 hbase \
    && useradd -u 10002 -g 10002 -M -d /var/lib/hbase -s /usr/sbin/nologin hbase \
    && install -d -o 10002 -g 10002 /var/lib/hbase
ENV PIGEONHOLE_HBASE_DATA=/var/lib/hbase PIGEONHOLE_HBASE_CACHE=/opt/hbase-jars
USER 10002:10002
WORKDIR /opt/pigeonhole
VOLUME /var/lib/hbase
EXPOSE 9090 16000 16020
ENTRYPOINT ["/opt/pigeonhole/deploy/hbase/hbase"]
CMD ["--help"]
