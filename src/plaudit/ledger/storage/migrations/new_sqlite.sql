-- What the migrations make in a new SQLite file, written down so that nothing has to be migrated there: a test
-- compares the two. An empty line ends a statement.
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE labels (
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    PRIMARY KEY (name, version)
);

CREATE TABLE specs (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    part TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    domain TEXT NOT NULL,
    spec TEXT NOT NULL,
    inputs TEXT NOT NULL,
    outputs TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name, version, part, fingerprint, domain)
);

CREATE TABLE scopes (
    id INTEGER NOT NULL,
    digest TEXT NOT NULL,
    run TEXT,
    phase TEXT,
    decision_class TEXT,
    actor TEXT,
    PRIMARY KEY (id),
    UNIQUE (digest)
);

CREATE INDEX ix_scopes_run ON scopes (run);

CREATE INDEX ix_scopes_decision_class ON scopes (decision_class);

CREATE TABLE writers (
    id INTEGER NOT NULL,
    token TEXT NOT NULL,
    opened INTEGER NOT NULL,
    host TEXT NOT NULL,
    process INTEGER NOT NULL,
    made_with TEXT NOT NULL,
    blocks INTEGER NOT NULL,
    records INTEGER NOT NULL,
    head BLOB NOT NULL, scheme INTEGER DEFAULT '1' NOT NULL, closing BLOB, signature BLOB,
    PRIMARY KEY (id),
    UNIQUE (token)
);

CREATE TABLE jobs (
    id INTEGER NOT NULL,
    digest TEXT NOT NULL,
    spec INTEGER NOT NULL,
    filters TEXT NOT NULL,
    started INTEGER NOT NULL,
    finished INTEGER, seal BLOB,
    PRIMARY KEY (id),
    UNIQUE (digest),
    FOREIGN KEY(spec) REFERENCES specs (id)
);

CREATE TABLE blocks (
    first INTEGER NOT NULL,
    records INTEGER NOT NULL,
    writer INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    earliest INTEGER NOT NULL,
    latest INTEGER NOT NULL,
    spec INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    target TEXT NOT NULL,
    job INTEGER,
    origin INTEGER,
    picked TEXT,
    times TEXT,
    keys TEXT,
    episodes TEXT,
    steps TEXT,
    contexts TEXT,
    inputs BLOB NOT NULL,
    outputs BLOB NOT NULL,
    head BLOB NOT NULL,
    PRIMARY KEY (first),
    FOREIGN KEY(writer) REFERENCES writers (id),
    FOREIGN KEY(spec) REFERENCES specs (id),
    FOREIGN KEY(scope) REFERENCES scopes (id),
    FOREIGN KEY(job) REFERENCES jobs (id)
);

CREATE INDEX blocks_by_scope ON blocks (scope, first);

CREATE UNIQUE INDEX blocks_by_job ON blocks (job, origin) WHERE job IS NOT NULL;

CREATE TABLE keys (
    "key" TEXT NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY ("key")
);

CREATE TABLE imported (
    source TEXT NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (source)
);

CREATE INDEX ix_imported_record ON imported (record);

CREATE TABLE powers (
    exponent INTEGER NOT NULL,
    value DOUBLE NOT NULL,
    PRIMARY KEY (exponent)
);

CREATE VIEW readable AS
SELECT
    b.first + n.key AS id,
    strftime('%Y-%m-%dT%H:%M:%S', ((b.earliest + coalesce(b.times ->> ('$[' || n.key || ']'), 0)) - (((b.earliest + coalesce(b.times ->> ('$[' || n.key || ']'), 0)) % 1000000 + 1000000) % 1000000)) / 1000000, 'unixepoch')
        || printf('.%06dZ', (((b.earliest + coalesce(b.times ->> ('$[' || n.key || ']'), 0)) % 1000000 + 1000000) % 1000000)) AS at,
    s.name AS reward, s.version, c.run,
    b.episodes ->> ('$[' || CASE json_array_length(b.episodes) WHEN 1 THEN 0 ELSE n.key END || ']') AS episode,
    b.steps ->> ('$[' || CASE json_array_length(b.steps) WHEN 1 THEN 0 ELSE n.key END || ']') AS step,
    c.phase, c.decision_class, c.actor,
    b.keys ->> ('$[' || n.key || ']') AS key,
    b.contexts -> ('$[' || CASE json_array_length(b.contexts) WHEN 1 THEN 0 ELSE n.key END || ']') AS context,
    (SELECT (CAST(CASE WHEN instr('123456789ABCDEF', substr(digits, 15, 1)) >= 8 THEN -1 ELSE 1 END AS DOUBLE PRECISION) * ((instr('123456789ABCDEF', substr(digits, 14, 1)) * 281474976710656 + (instr('123456789ABCDEF', substr(digits, 1, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 2, 1))) * 1 + (instr('123456789ABCDEF', substr(digits, 3, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 4, 1))) * 256 + (instr('123456789ABCDEF', substr(digits, 5, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 6, 1))) * 65536 + (instr('123456789ABCDEF', substr(digits, 7, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 8, 1))) * 16777216 + (instr('123456789ABCDEF', substr(digits, 9, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 10, 1))) * 4294967296 + (instr('123456789ABCDEF', substr(digits, 11, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 12, 1))) * 1099511627776) + CASE WHEN (instr('123456789ABCDEF', substr(digits, 15, 1)) % 8 * 256 + instr('123456789ABCDEF', substr(digits, 16, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 13, 1))) > 0 THEN 4503599627370496 ELSE 0 END) * (SELECT value FROM powers WHERE exponent = (instr('123456789ABCDEF', substr(digits, 15, 1)) % 8 * 256 + instr('123456789ABCDEF', substr(digits, 16, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 13, 1))))) FROM (
        SELECT hex(substr(b.outputs, n.key * json_array_length(s.outputs) * 8 + 1, 8)) AS digits
    )) AS total,
    (SELECT json_group_object(i.name, CASE i.kind
        WHEN 'flag' THEN json(CASE WHEN i.number = 1 THEN 'true' ELSE 'false' END)
        WHEN 'category' THEN i.labels ->> ('$[' || CAST(i.number AS INTEGER) || ']')
        ELSE CASE WHEN i.number IS NULL THEN CASE substr(digits, 15, 2) WHEN '7F' THEN 'inf' ELSE '-inf' END ELSE json(CASE WHEN i.number = 0 THEN CASE WHEN instr('89ABCDEF', substr(i.digits, 15, 1)) THEN '-0.0' ELSE '0.0' END WHEN CAST(printf('%!.15g', i.number) AS REAL) = i.number THEN printf('%!.15g', i.number) WHEN CAST(printf('%!.17g', i.number) AS REAL) = i.number THEN printf('%!.17g', i.number) ELSE printf('%!.20g', i.number) END) END END)
     FROM (
        SELECT name, kind, labels, digits, (CAST(CASE WHEN instr('123456789ABCDEF', substr(digits, 15, 1)) >= 8 THEN -1 ELSE 1 END AS DOUBLE PRECISION) * ((instr('123456789ABCDEF', substr(digits, 14, 1)) * 281474976710656 + (instr('123456789ABCDEF', substr(digits, 1, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 2, 1))) * 1 + (instr('123456789ABCDEF', substr(digits, 3, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 4, 1))) * 256 + (instr('123456789ABCDEF', substr(digits, 5, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 6, 1))) * 65536 + (instr('123456789ABCDEF', substr(digits, 7, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 8, 1))) * 16777216 + (instr('123456789ABCDEF', substr(digits, 9, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 10, 1))) * 4294967296 + (instr('123456789ABCDEF', substr(digits, 11, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 12, 1))) * 1099511627776) + CASE WHEN (instr('123456789ABCDEF', substr(digits, 15, 1)) % 8 * 256 + instr('123456789ABCDEF', substr(digits, 16, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 13, 1))) > 0 THEN 4503599627370496 ELSE 0 END) * (SELECT value FROM powers WHERE exponent = (instr('123456789ABCDEF', substr(digits, 15, 1)) % 8 * 256 + instr('123456789ABCDEF', substr(digits, 16, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 13, 1))))) AS number FROM (
            SELECT e.value ->> 'name' AS name, e.value ->> 'kind' AS kind, e.value -> 'labels' AS labels,
                hex(substr(b.inputs, (n.key * json_array_length(s.inputs) + e.key) * 8 + 1, 8)) AS digits
            FROM json_each(s.inputs) AS e
        )
     ) AS i) AS inputs,
    (SELECT json_group_object(o.name, json(CASE WHEN o.number = 0 THEN CASE WHEN instr('89ABCDEF', substr(o.digits, 15, 1)) THEN '-0.0' ELSE '0.0' END WHEN CAST(printf('%!.15g', o.number) AS REAL) = o.number THEN printf('%!.15g', o.number) WHEN CAST(printf('%!.17g', o.number) AS REAL) = o.number THEN printf('%!.17g', o.number) ELSE printf('%!.20g', o.number) END))
     FROM (
        SELECT name, digits, (CAST(CASE WHEN instr('123456789ABCDEF', substr(digits, 15, 1)) >= 8 THEN -1 ELSE 1 END AS DOUBLE PRECISION) * ((instr('123456789ABCDEF', substr(digits, 14, 1)) * 281474976710656 + (instr('123456789ABCDEF', substr(digits, 1, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 2, 1))) * 1 + (instr('123456789ABCDEF', substr(digits, 3, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 4, 1))) * 256 + (instr('123456789ABCDEF', substr(digits, 5, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 6, 1))) * 65536 + (instr('123456789ABCDEF', substr(digits, 7, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 8, 1))) * 16777216 + (instr('123456789ABCDEF', substr(digits, 9, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 10, 1))) * 4294967296 + (instr('123456789ABCDEF', substr(digits, 11, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 12, 1))) * 1099511627776) + CASE WHEN (instr('123456789ABCDEF', substr(digits, 15, 1)) % 8 * 256 + instr('123456789ABCDEF', substr(digits, 16, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 13, 1))) > 0 THEN 4503599627370496 ELSE 0 END) * (SELECT value FROM powers WHERE exponent = (instr('123456789ABCDEF', substr(digits, 15, 1)) % 8 * 256 + instr('123456789ABCDEF', substr(digits, 16, 1)) * 16 + instr('123456789ABCDEF', substr(digits, 13, 1))))) AS number FROM (
            SELECT e.value AS name,
                hex(substr(b.outputs, (n.key * json_array_length(s.outputs) + e.key) * 8 + 1, 8)) AS digits
            FROM json_each(s.outputs) AS e WHERE e.key > 0
        )
     ) AS o) AS terms,
    b.origin IS NOT NULL AS rescored
FROM blocks AS b
JOIN specs AS s ON s.id = b.spec
JOIN scopes AS c ON c.id = b.scope
JOIN json_each('[' || substr(replace(hex(zeroblob(b.records)), '00', ',0'), 2) || ']') AS n;

CREATE INDEX blocks_by_writer ON blocks (writer, seq);

CREATE TABLE quarantine (
    id INTEGER NOT NULL,
    digest TEXT NOT NULL,
    source TEXT NOT NULL,
    at INTEGER NOT NULL,
    file TEXT NOT NULL,
    line INTEGER NOT NULL,
    reason TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (digest)
);

CREATE TABLE table_heads (
    name TEXT NOT NULL,
    rows INTEGER NOT NULL,
    head BLOB NOT NULL,
    signature BLOB,
    PRIMARY KEY (name)
);

CREATE TABLE summaries (
    first INTEGER NOT NULL,
    time_fork INTEGER NOT NULL,
    step_fork INTEGER,
    step_low INTEGER,
    step_high INTEGER,
    episode_fork INTEGER,
    episode_low INTEGER,
    episode_high INTEGER,
    total DOUBLE,
    low DOUBLE,
    high DOUBLE,
    PRIMARY KEY (first),
    FOREIGN KEY(first) REFERENCES blocks (first)
);

CREATE INDEX ix_summaries_time_fork ON summaries (time_fork);

CREATE INDEX ix_summaries_step_fork ON summaries (step_fork);

CREATE INDEX ix_summaries_episode_fork ON summaries (episode_fork);

CREATE INDEX ix_scopes_phase ON scopes (phase);

CREATE INDEX ix_scopes_actor ON scopes (actor);

CREATE INDEX blocks_by_spec ON blocks (spec, first);

CREATE VIEW appended AS
SELECT b.first, b.records, b.writer, b.seq, b.earliest, b.latest, b.spec, b.scope, b.target, b.job, b.origin, b.picked, b.times, b.keys, b.episodes, b.steps, b.contexts, b.inputs, b.outputs, b.head, w.closing, w.signature,
    s.time_fork, s.step_fork, s.step_low, s.step_high, s.episode_fork, s.episode_low, s.episode_high, s.total, s.low, s.high
FROM blocks AS b JOIN writers AS w ON w.id = b.writer JOIN summaries AS s ON s.first = b.first;

CREATE TRIGGER append INSTEAD OF INSERT ON appended BEGIN
    UPDATE writers
    SET records = records + NEW.records, head = NEW.head, closing = NEW.closing, signature = NEW.signature
    WHERE id = NEW.writer AND scheme = 2 AND records = NEW.seq - 1;
    SELECT RAISE(ABORT, 'this block does not follow the last one of its writer') WHERE changes() = 0;
    INSERT INTO blocks (first, records, writer, seq, earliest, latest, spec, scope, target, job, origin, picked, times, keys, episodes, steps, contexts, inputs, outputs, head)
    VALUES (NEW.first, NEW.records, NEW.writer, NEW.seq, NEW.earliest, NEW.latest, NEW.spec, NEW.scope, NEW.target, NEW.job, NEW.origin, NEW.picked, NEW.times, NEW.keys, NEW.episodes, NEW.steps, NEW.contexts, NEW.inputs, NEW.outputs, NEW.head);
    INSERT INTO summaries (first, time_fork, step_fork, step_low, step_high, episode_fork, episode_low, episode_high, total, low, high)
    VALUES (NEW.first, NEW.time_fork, NEW.step_fork, NEW.step_low, NEW.step_high, NEW.episode_fork, NEW.episode_low, NEW.episode_high, NEW.total, NEW.low, NEW.high);
END;

CREATE TABLE episode_parts (
    first INTEGER NOT NULL,
    position INTEGER NOT NULL,
    last INTEGER NOT NULL,
    episode TEXT NOT NULL,
    records INTEGER NOT NULL,
    earliest INTEGER NOT NULL,
    latest INTEGER NOT NULL,
    step_low INTEGER,
    step_high INTEGER,
    ended TEXT,
    total DOUBLE NOT NULL,
    terms BLOB NOT NULL,
    PRIMARY KEY (first, position),
    FOREIGN KEY(first) REFERENCES blocks (first)
);

INSERT INTO alembic_version VALUES ('0004');

INSERT INTO table_heads (name, rows, head)
VALUES ('specs', 0, zeroblob(32)), ('jobs', 0, zeroblob(32)), ('imported', 0, zeroblob(32)), ('quarantine', 0, zeroblob(32)), ('writers', 0, zeroblob(32));
