# surest as an ordinary user, for a read-only root:
#   docker build -t surest .
#   docker run --rm --read-only --tmpfs /tmp surest identify example1:20 --seed 1
#   docker run --rm --read-only --tmpfs /tmp -v "$PWD:/work" --user "$(id -u):$(id -g)" surest evaluate scores.csv
FROM python:3.12.11-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/surest && /opt/surest/bin/pip install --no-cache-dir '.[postgresql,plot,serve]'

FROM python:3.12.11-slim-bookworm
COPY --from=build /opt/surest /opt/surest
# Whatever is written at run time goes to /tmp, which may be a tmpfs: machine code, matplotlib's list of fonts.
# Mount a volume and name it in NUMBA_CACHE_DIR to keep machine code from one container to the next.
ENV PATH=/opt/surest/bin:$PATH \
    HOME=/tmp \
    MPLCONFIGDIR=/tmp/matplotlib \
    NUMBA_CACHE_DIR=/tmp/numba \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /work
USER 10001:10001
ENTRYPOINT ["surest"]
CMD ["--help"]
