# surest as an ordinary user, for a read-only root:
#   docker build -t surest .
#   docker run --rm --read-only --tmpfs /tmp surest identify example1:20 --seed 1
#   docker run --rm --read-only --tmpfs /tmp -v "$PWD:/work" --user "$(id -u):$(id -g)" surest evaluate scores.csv
# A tag may come to mean another image; a digest cannot. `docker buildx imagetools inspect TAG` prints it:
#   docker build --build-arg BASE=python:3.12.11-slim-bookworm@sha256:... -t surest .
ARG BASE=python:3.12.11-slim-bookworm
FROM ${BASE} AS build
WORKDIR /source
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
COPY pyproject.toml setup.py README.md LICENSE requirements.lock ./
COPY src src
# All packages, those that build included, are the ones whose hashes are in requirements.lock (`make lock` writes it).
RUN python -m venv /opt/surest \
 && /opt/surest/bin/pip install --no-cache-dir --require-hashes -r requirements.lock \
 && /opt/surest/bin/pip install --no-cache-dir --no-deps --no-build-isolation --no-index . \
 && /opt/surest/bin/pip uninstall -y cython setuptools

FROM ${BASE}
COPY --from=build /opt/surest /opt/surest
# Whatever is written at run time goes to /tmp, which may be a tmpfs: matplotlib's list of fonts.
ENV PATH=/opt/surest/bin:$PATH \
    HOME=/tmp \
    MPLCONFIGDIR=/tmp/matplotlib \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /work
USER 10001:10001
ENTRYPOINT ["surest"]
CMD ["--help"]
