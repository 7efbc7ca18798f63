    # >>> envkit deactivate hooks >>>
    # Put here by envkit: runs etc/conda/deactivate.d/*.fish of the active environment, in reverse order.
    if set -q VIRTUAL_ENV
        set -l hooks $VIRTUAL_ENV/etc/conda/deactivate.d/*.fish
        for hook in $hooks[-1..1]
            builtin source $hook
        end
    end
    # <<< envkit deactivate hooks <<<
