create view pgflow.ensure_workers_status as select * from pgflow._ensure_workers_status();
comment on view pgflow.ensure_workers_status is
  'One row: where ensure_workers sends its pings and with which kind of key (never the key), what is missing for it, and how to mend that.';
