@rem >>> envkit activate hooks >>>
@rem Put here by envkit: runs etc\conda\activate.d\*.bat of this environment (docs/activation.md).
@if defined VIRTUAL_ENV if exist "%VIRTUAL_ENV%\etc\conda\activate.d\" pushd "%VIRTUAL_ENV%\etc\conda\activate.d" && ((for %%V in (*.bat) do @call ".\%%V") & popd)
@rem <<< envkit activate hooks <<<
