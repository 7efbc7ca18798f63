    # >>> envkit deactivate hooks >>>
    # Put here by envkit: runs etc/conda/deactivate.d/*.sh of the active environment, in reverse order.
    if [ -n "${VIRTUAL_ENV-}" ] && [ -d "${VIRTUAL_ENV-}/etc/conda/deactivate.d" ]; then
        # The files are listed with globbing on and an empty folder no error; they run under the user's options.
        _envkit_list () {
            if [ -n "${ZSH_VERSION-}" ]; then
                \eval '
                    \local -a _envkit_found
                    () { \emulate -L zsh; _envkit_found=("$1"/*.sh(N)); } "$1"
                    \set -- "" "${_envkit_found[@]}"
                '
            else
                \set +f
                case ":$3:" in *:failglob:*) \shopt -u failglob ;; esac
                \set -- "$2" "$3" "$1"/*.sh
                case ":$2:" in *:failglob:*) \shopt -s failglob ;; esac
                case "$1" in *f*) \set -f ;; esac
                \shift
            fi
            _envkit_source "$@"
        }
        _envkit_source () {
            \shift
            if [ "$#" -gt 0 ]; then
                _envkit_source "$@"
                if [ -f "$1" ]; then . "$1"; fi
            fi
        }
        _envkit_list "${VIRTUAL_ENV}/etc/conda/deactivate.d" "$-" "${BASHOPTS-}"
        \unset -f _envkit_list _envkit_source
    fi
    # <<< envkit deactivate hooks <<<
