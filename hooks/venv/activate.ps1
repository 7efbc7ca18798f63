# >>> envkit activate hooks >>>
# Put here by envkit: runs etc/conda/activate.d/*.ps1 of this environment, in order (docs/activation.md).
& {
    if ($env:VIRTUAL_ENV -and [IO.Directory]::Exists("$env:VIRTUAL_ENV/etc/conda/activate.d")) {
        $files = @([IO.Directory]::GetFiles("$env:VIRTUAL_ENV/etc/conda/activate.d") | Where-Object { $_ -like '*.ps1' })
        foreach ($file in @($files | Sort-Object)) { . $file }
    }
}
# <<< envkit activate hooks <<<
