source-bash @FILE@
