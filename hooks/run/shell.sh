# Written by `envkit shell` for a conda prefix, read behind the user's own files: conda activates it where the shell
# knows conda, else this text does.
case "$(command -v conda)" in
    conda) conda activate @PREFIX@ ;;
    *)
        export CONDA_PREFIX=@PREFIX@ CONDA_DEFAULT_ENV=@NAME@ CONDA_PROMPT_MODIFIER=@PROMPT@ CONDA_SHLVL=1
        export PATH="${CONDA_PREFIX}/bin${PATH:+:${PATH}}"
        PS1="${CONDA_PROMPT_MODIFIER}${PS1-}"
        for _envkit_hook in @HOOKS@; do . "$_envkit_hook"; done
        unset _envkit_hook
        ;;
esac
