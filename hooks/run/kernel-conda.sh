# Written by `envkit kernel`, started by Jupyter: does what a switch by conda does to a shell (docs/activation.md), then
# becomes the kernel, so that Jupyter's signals reach it. It needs neither envkit nor conda.
#
#     bash start.sh -f CONNECTION-FILE
_envkit_leave () { # last first
    shift
    if [ "$#" -gt 0 ]; then
        _envkit_leave "$@"
        if [ -f "$1" ]; then . "$1"; fi
    fi
}
_envkit_enter () {
    while [ "$#" -gt 0 ]; do
        if [ -f "$1" ]; then . "$1"; fi
        shift
    done
}
if [ -n "${CONDA_PREFIX-}" ] && [ "${CONDA_SHLVL:-0}" != 0 ]; then
    _envkit_leave "" "$CONDA_PREFIX"/etc/conda/deactivate.d/*.sh
fi
export PATH=@PREFIX@/bin"${PATH:+:${PATH}}"
export CONDA_PREFIX=@PREFIX@ CONDA_DEFAULT_ENV=@NAME@ CONDA_PROMPT_MODIFIER=@PROMPT@ CONDA_SHLVL=1
for _envkit_variable in @VARIABLES@; do export "$_envkit_variable"; done
_envkit_enter @PREFIX@/etc/conda/activate.d/*.sh
unset -f _envkit_leave _envkit_enter
exec @PREFIX@/bin/python -m ipykernel_launcher "$@"
