function _gradeval_completion;
    set -l response (env _GRADEVAL_COMPLETE=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) gradeval);

    for completion in $response;
        set -l metadata (string split -m 1 "," -- $completion);

        if test $metadata[1] = "dir";
            __fish_complete_directories $metadata[2];
        else if test $metadata[1] = "file";
            set -l option (string match -r "^-[^=]*=" -- (commandline -t));
            for path in (__fish_complete_path $metadata[2]);
                echo $option$path;
            end;
        else if test $metadata[1] = "plain";
            echo $metadata[2];
        end;
    end;
end;

complete --no-files --command gradeval --arguments "(_gradeval_completion)";
