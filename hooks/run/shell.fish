# Written by `envkit shell` for a conda prefix, read behind the user's own files: conda activates it where the shell
# knows conda, else this text does.
if functions -q conda
    conda activate @PREFIX@
else
    set -gx CONDA_PREFIX @PREFIX@
    set -gx CONDA_DEFAULT_ENV @NAME@
    set -gx CONDA_PROMPT_MODIFIER @PROMPT@
    set -gx CONDA_SHLVL 1
    set -gx PATH "$CONDA_PREFIX/bin" $PATH
    for hook in @HOOKS@
        source $hook
    end
    set -e hook
end
