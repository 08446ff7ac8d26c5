-- @title What a host range does for the input
-- By a range's name: wait (the program asks for the next batch: PyTorch's data loader,
-- TensorFlow's IteratorGetNext, ranges a user called "load data"), read (records come
-- from files), preprocess (they are mapped, decoded, batched), else NULL. Of tf.data's
-- iterators those that end in a file's format read, as TensorFlow's profiler has it.
-- regexp_extract runs once per distinct name, regexp_matches would once per row.
-- @param range_name VARCHAR Name of an operation, annotation or slice.
-- @since 0.2
CREATE MACRO _input_stage(range_name VARCHAR) AS CASE
    WHEN regexp_extract(
        range_name,
        '^enumerate\(Data(Loader|Pipe)\)#|Process(DataLoader|Data_Loader)Iter\b|'
        || '(^|[/:])(IteratorGetNext|OneShotIteratorGetNext|DatasetGetNext)|'
        || '(?i:^(input|data)[ _-]?(load|loading|loader|loading_time|wait|fetch)$|'
        || '^(load|fetch|get|wait|next)[ _-]?(for[ _-]?)?(the[ _-]?)?(next[ _-]?)?'
        || '(data|batch|input|inputs)$)'
    ) <> '' THEN 'wait'
    WHEN regexp_extract(
        range_name,
        '^Iterator::(.*::)?(TFRecord|TextLine|FixedLengthRecord|SSTable|RecordIO)'
        || '(V[0-9]+)?(\[[0-9]+\])?$|'
        || '^(ReadFile|TFRecordDataset|TextLineDataset|ReaderRead)|'
        || '(?i:^(read|open)[ _-]?(file|files|record|records|shard|image|images)$)'
    ) <> '' THEN 'read'
    WHEN regexp_extract(
        range_name,
        '^Iterator::|^(DecodeJpeg|DecodePng|DecodeImage|DecodeAndCropJpeg|'
        || 'ParseExample|ParseSingleExample)|'
        || '(?i:^(pre[ _-]?process(ing)?|augment(ation)?|collate(_fn)?|tokeni[sz]e)'
        || '($|[ _:#-]))'
    ) <> '' THEN 'preprocess'
END;
