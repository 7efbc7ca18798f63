# Written by `envkit kernel`, started by Jupyter: activates the environment as its users do, then becomes the kernel, so
# that Jupyter's signals reach it. It needs no envkit.
#
#     sh start.sh -f CONNECTION-FILE
export VIRTUAL_ENV_DISABLE_PROMPT="${VIRTUAL_ENV_DISABLE_PROMPT:-1}"
. @ACTIVATE@ || exit
exec @PYTHON@ -m ipykernel_launcher "$@"
