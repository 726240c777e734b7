-- What the migrations make in an empty PostgreSQL database, written down so that nothing has to be migrated there: a
-- test compares the two.
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
    id BIGSERIAL NOT NULL,
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
    id BIGSERIAL NOT NULL,
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
    id BIGSERIAL NOT NULL,
    token TEXT NOT NULL,
    opened BIGINT NOT NULL,
    host TEXT NOT NULL,
    process BIGINT NOT NULL,
    made_with TEXT NOT NULL,
    blocks BIGINT NOT NULL,
    records BIGINT NOT NULL,
    head BYTEA NOT NULL,
    scheme BIGINT DEFAULT '1' NOT NULL,
    closing BYTEA,
    signature BYTEA,
    PRIMARY KEY (id),
    UNIQUE (token)
);

CREATE TABLE jobs (
    id BIGSERIAL NOT NULL,
    digest TEXT NOT NULL,
    spec BIGINT NOT NULL,
    filters TEXT NOT NULL,
    started BIGINT NOT NULL,
    finished BIGINT,
    seal BYTEA,
    PRIMARY KEY (id),
    UNIQUE (digest),
    FOREIGN KEY(spec) REFERENCES specs (id)
);

CREATE TABLE blocks (
    first BIGSERIAL NOT NULL,
    records BIGINT NOT NULL,
    writer BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    earliest BIGINT NOT NULL,
    latest BIGINT NOT NULL,
    spec BIGINT NOT NULL,
    scope BIGINT NOT NULL,
    target TEXT NOT NULL,
    job BIGINT,
    origin BIGINT,
    picked TEXT,
    times TEXT,
    keys TEXT,
    episodes TEXT,
    steps TEXT,
    contexts TEXT,
    inputs BYTEA NOT NULL,
    outputs BYTEA NOT NULL,
    head BYTEA NOT NULL,
    PRIMARY KEY (first),
    FOREIGN KEY(writer) REFERENCES writers (id),
    FOREIGN KEY(spec) REFERENCES specs (id),
    FOREIGN KEY(scope) REFERENCES scopes (id),
    FOREIGN KEY(job) REFERENCES jobs (id)
);

CREATE INDEX blocks_by_scope ON blocks (scope, first);

CREATE UNIQUE INDEX blocks_by_job ON blocks (job, origin) WHERE job IS NOT NULL;

CREATE TABLE keys (
    key TEXT NOT NULL,
    record BIGINT NOT NULL,
    PRIMARY KEY (key)
);

CREATE TABLE imported (
    source TEXT NOT NULL,
    record BIGINT NOT NULL,
    PRIMARY KEY (source)
);

CREATE INDEX ix_imported_record ON imported (record);

CREATE TABLE powers (
    exponent BIGINT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (exponent)
);

CREATE VIEW readable AS
SELECT
    b.first + n.key AS id,
    to_timestamp(0) + (b.earliest + coalesce((b.times::json ->> n.key::int)::bigint, 0)) / 1000000 * interval '1 second'
        + (b.earliest + coalesce((b.times::json ->> n.key::int)::bigint, 0)) % 1000000 * interval '1 microsecond' AS at,
    s.name AS reward, s.version, c.run,
    b.episodes::json ->> CASE json_array_length(b.episodes::json) WHEN 1 THEN 0 ELSE n.key::int END AS episode,
    (b.steps::json ->> CASE json_array_length(b.steps::json) WHEN 1 THEN 0 ELSE n.key::int END)::bigint AS step,
    c.phase, c.decision_class, c.actor,
    b.keys::json ->> n.key::int AS key,
    replace(b.contexts, '\u0000', '\u2400')::json -> CASE json_array_length(replace(b.contexts, '\u0000', '\u2400')::json) WHEN 1 THEN 0 ELSE n.key::int END AS context,
    (SELECT (CAST(CASE WHEN get_byte(o.bytes, 7)::bigint >= 128 THEN -1 ELSE 1 END AS DOUBLE PRECISION) * ((get_byte(o.bytes, 6)::bigint % 16 * 281474976710656 + get_byte(o.bytes, 0)::bigint * 1 + get_byte(o.bytes, 1)::bigint * 256 + get_byte(o.bytes, 2)::bigint * 65536 + get_byte(o.bytes, 3)::bigint * 16777216 + get_byte(o.bytes, 4)::bigint * 4294967296 + get_byte(o.bytes, 5)::bigint * 1099511627776) + CASE WHEN (get_byte(o.bytes, 7)::bigint % 128 * 16 + get_byte(o.bytes, 6)::bigint / 16) > 0 THEN 4503599627370496 ELSE 0 END) * (SELECT value FROM powers WHERE exponent = (get_byte(o.bytes, 7)::bigint % 128 * 16 + get_byte(o.bytes, 6)::bigint / 16))) FROM (
        SELECT substr(b.outputs, (n.key * json_array_length(s.outputs::json) * 8 + 1)::int, 8) AS bytes
    ) AS o) AS total,
    (SELECT json_object_agg(i.name, CASE i.kind
        WHEN 'flag' THEN to_json(i.number = 1)
        WHEN 'category' THEN i.labels -> i.number::int
        ELSE coalesce(to_json(i.number), to_json(CASE get_byte(i.bytes, 7) WHEN 127 THEN 'inf' ELSE '-inf' END)) END)
     FROM (
        SELECT x.name, x.kind, x.labels, x.bytes, (CAST(CASE WHEN get_byte(x.bytes, 7)::bigint >= 128 THEN -1 ELSE 1 END AS DOUBLE PRECISION) * ((get_byte(x.bytes, 6)::bigint % 16 * 281474976710656 + get_byte(x.bytes, 0)::bigint * 1 + get_byte(x.bytes, 1)::bigint * 256 + get_byte(x.bytes, 2)::bigint * 65536 + get_byte(x.bytes, 3)::bigint * 16777216 + get_byte(x.bytes, 4)::bigint * 4294967296 + get_byte(x.bytes, 5)::bigint * 1099511627776) + CASE WHEN (get_byte(x.bytes, 7)::bigint % 128 * 16 + get_byte(x.bytes, 6)::bigint / 16) > 0 THEN 4503599627370496 ELSE 0 END) * (SELECT value FROM powers WHERE exponent = (get_byte(x.bytes, 7)::bigint % 128 * 16 + get_byte(x.bytes, 6)::bigint / 16))) AS number FROM (
            SELECT e.value ->> 'name' AS name, e.value ->> 'kind' AS kind, e.value -> 'labels' AS labels,
                substr(b.inputs, ((n.key * json_array_length(s.inputs::json) + e.at - 1) * 8 + 1)::int, 8) AS bytes
            FROM json_array_elements(s.inputs::json) WITH ORDINALITY AS e(value, at)
        ) AS x
     ) AS i) AS inputs,
    (SELECT json_object_agg(o.name, (CAST(CASE WHEN get_byte(o.bytes, 7)::bigint >= 128 THEN -1 ELSE 1 END AS DOUBLE PRECISION) * ((get_byte(o.bytes, 6)::bigint % 16 * 281474976710656 + get_byte(o.bytes, 0)::bigint * 1 + get_byte(o.bytes, 1)::bigint * 256 + get_byte(o.bytes, 2)::bigint * 65536 + get_byte(o.bytes, 3)::bigint * 16777216 + get_byte(o.bytes, 4)::bigint * 4294967296 + get_byte(o.bytes, 5)::bigint * 1099511627776) + CASE WHEN (get_byte(o.bytes, 7)::bigint % 128 * 16 + get_byte(o.bytes, 6)::bigint / 16) > 0 THEN 4503599627370496 ELSE 0 END) * (SELECT value FROM powers WHERE exponent = (get_byte(o.bytes, 7)::bigint % 128 * 16 + get_byte(o.bytes, 6)::bigint / 16))))
     FROM (
        SELECT e.value AS name,
            substr(b.outputs, ((n.key * json_array_length(s.outputs::json) + e.at - 1) * 8 + 1)::int, 8) AS bytes
        FROM json_array_elements_text(s.outputs::json) WITH ORDINALITY AS e(value, at) WHERE e.at > 1
     ) AS o) AS terms,
    b.origin IS NOT NULL AS rescored
FROM blocks AS b
JOIN specs AS s ON s.id = b.spec
JOIN scopes AS c ON c.id = b.scope
CROSS JOIN LATERAL generate_series(0, b.records - 1) AS n(key);

CREATE INDEX blocks_by_writer ON blocks (writer, seq);

CREATE TABLE quarantine (
    id BIGSERIAL NOT NULL,
    digest TEXT NOT NULL,
    source TEXT NOT NULL,
    at BIGINT NOT NULL,
    file TEXT NOT NULL,
    line BIGINT NOT NULL,
    reason TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (digest)
);

CREATE TABLE table_heads (
    name TEXT NOT NULL,
    rows BIGINT NOT NULL,
    head BYTEA NOT NULL,
    signature BYTEA,
    PRIMARY KEY (name)
);

CREATE TABLE summaries (
    first BIGINT NOT NULL,
    time_fork BIGINT NOT NULL,
    step_fork BIGINT,
    step_low BIGINT,
    step_high BIGINT,
    episode_fork BIGINT,
    episode_low BIGINT,
    episode_high BIGINT,
    total DOUBLE PRECISION,
    low DOUBLE PRECISION,
    high DOUBLE PRECISION,
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

CREATE FUNCTION append_block() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE writers
    SET records = records + NEW.records, head = NEW.head, closing = NEW.closing, signature = NEW.signature
    WHERE id = NEW.writer AND scheme = 2 AND records = NEW.seq - 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this block does not follow the last one of its writer' USING ERRCODE = 'unique_violation';
    END IF;
    INSERT INTO blocks (first, records, writer, seq, earliest, latest, spec, scope, target, job, origin, picked, times, keys, episodes, steps, contexts, inputs, outputs, head)
    VALUES (NEW.first, NEW.records, NEW.writer, NEW.seq, NEW.earliest, NEW.latest, NEW.spec, NEW.scope, NEW.target, NEW.job, NEW.origin, NEW.picked, NEW.times, NEW.keys, NEW.episodes, NEW.steps, NEW.contexts, NEW.inputs, NEW.outputs, NEW.head);
    INSERT INTO summaries (first, time_fork, step_fork, step_low, step_high, episode_fork, episode_low, episode_high, total, low, high)
    VALUES (NEW.first, NEW.time_fork, NEW.step_fork, NEW.step_low, NEW.step_high, NEW.episode_fork, NEW.episode_low, NEW.episode_high, NEW.total, NEW.low, NEW.high);
    RETURN NEW;
END $$;

CREATE TRIGGER append INSTEAD OF INSERT ON appended FOR EACH ROW EXECUTE FUNCTION append_block();

CREATE TABLE episode_parts (
    first BIGINT NOT NULL,
    position BIGINT NOT NULL,
    last BIGINT NOT NULL,
    episode TEXT NOT NULL,
    records BIGINT NOT NULL,
    earliest BIGINT NOT NULL,
    latest BIGINT NOT NULL,
    step_low BIGINT,
    step_high BIGINT,
    ended TEXT,
    total DOUBLE PRECISION NOT NULL,
    terms BYTEA NOT NULL,
    PRIMARY KEY (first, position),
    FOREIGN KEY(first) REFERENCES blocks (first)
);

INSERT INTO alembic_version VALUES ('0004');

INSERT INTO table_heads (name, rows, head)
VALUES ('specs', 0, decode(repeat('00', 32), 'hex')), ('jobs', 0, decode(repeat('00', 32), 'hex')), ('imported', 0, decode(repeat('00', 32), 'hex')), ('quarantine', 0, decode(repeat('00', 32), 'hex')), ('writers', 0, decode(repeat('00', 32), 'hex'));
