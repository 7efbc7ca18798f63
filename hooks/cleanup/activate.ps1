# Made by envkit (`envkit hooks clean-all`; with --remove it takes this file out again): when conda switches from an
# environment of envkit to this one it brings the PATH entry of the CUDA toolkit back (conda/conda#14762); this takes it
# out again. While a toolkit is in force, below this environment in a stack, nothing is done. On Windows conda takes the
# entries out itself. Rules and reasons: docs/activation.md in envkit's sources. Starts no program, writes nothing,
# leaves nothing behind.

& {
    # Nothing of the caller's strictness and preferences counts in here.
    Set-StrictMode -Off
    $ErrorActionPreference = 'Continue'
    if ($null -ne $env:_ENVKIT_@SLOT@_BIN -and $null -eq $env:_ENVKIT_@SLOT@_TOOLKIT) {
        $entries = @("$env:PATH" -split ':')
        $first = -1
        $count = 0
        for ($at = $entries.Count - 1; $at -ge 0; $at--) {
            if ($entries[$at] -ceq $env:_ENVKIT_@SLOT@_BIN) {
                $first = $at
                $count++
            }
        }
        if ($count -gt "$env:_ENVKIT_@SLOT@_OWN".Length) {
            $kept = @(for ($at = 0; $at -lt $entries.Count; $at++) { if ($at -ne $first) { $entries[$at] } })
            $env:PATH = $kept -join ':'
        }
        $env:_ENVKIT_@SLOT@_BIN = $null
        $env:_ENVKIT_@SLOT@_OWN = $null
        $env:_ENVKIT_@SLOT@_IN = $null
    }
}
