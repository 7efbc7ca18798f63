# Started by `envkit run` for a conda prefix: does in this one process what `conda activate` does to a shell, in conda's
# order (docs/activation.md), then becomes the command.
#
#     conda.sh HOOK-OF-THE-ENVIRONMENT-LEFT... -- NAME=VALUE... -- HOOK... -- COMMAND ARGUMENT...
while [ "$1" != -- ]; do . "$1"; shift; done
shift
while [ "$1" != -- ]; do export "$1"; shift; done
shift
while [ "$1" != -- ]; do . "$1"; shift; done
shift
exec "$@"
