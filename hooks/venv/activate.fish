# >>> envkit activate hooks >>>
# Put here by envkit: runs etc/conda/activate.d/*.fish of this environment, in order (docs/activation.md).
begin
    set -l hook
    for hook in $VIRTUAL_ENV/etc/conda/activate.d/*.fish
        builtin source $hook
    end
end
# <<< envkit activate hooks <<<
