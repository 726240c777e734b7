WITH plaudit_1 AS (
  SELECT
    `episode` AS k0,
    `step` AS k1,
    CAST(`place` AS DOUBLE) AS r0,
    CAST(LAG(`place`) OVER (PARTITION BY `episode` ORDER BY `step`) AS DOUBLE) AS r1,
    (CAST(`mood` AS STRING) COLLATE UTF8_BINARY) AS r2,
    ((`step` - LAG(`step`) OVER (PARTITION BY `episode` ORDER BY `step`) = 1 AND COALESCE(LAG(`step`) OVER (PARTITION BY `episode` ORDER BY `step`) <> LAG(`step`, 2) OVER (PARTITION BY `episode` ORDER BY `step`), TRUE) AND COALESCE(`step` <> LEAD(`step`) OVER (PARTITION BY `episode` ORDER BY `step`), TRUE) AND `episode` IS NOT NULL) IS TRUE) AS follows
  FROM `steps`
), plaudit_2 AS (
  SELECT
    k0,
    k1,
    follows,
    CASE WHEN (r0 BETWEEN (-100.0D) AND 100.0D) THEN r0 ELSE 0.0D END AS x0,
    CASE WHEN (r1 BETWEEN (-100.0D) AND 100.0D) THEN r1 ELSE 0.0D END AS x1,
    CASE WHEN (r2 IN ('calm', 'wild', 'other')) THEN r2 ELSE 'other' END AS x2,
    ((follows AND (r0 BETWEEN (-100.0D) AND 100.0D) AND (r1 BETWEEN (-100.0D) AND 100.0D) AND (r2 IS NOT NULL)) IS TRUE) AS ok
  FROM plaudit_1
), plaudit_3 AS (
  SELECT
    k0,
    k1,
    follows,
    ok,
    (x0 - x1) AS v2,
    (x2 = 'calm') AS v5
  FROM plaudit_2
), plaudit_4 AS (
  SELECT
    k0,
    k1,
    v2,
    v5,
    follows,
    ok,
    CASE WHEN v5 THEN 0.5D ELSE (-0.5D) END AS v8
  FROM plaudit_3
)
SELECT
  k0 AS `episode`,
  k1 AS `step`,
  CASE WHEN ok THEN (v2 + v8) END AS `total`,
  CASE WHEN ok THEN v2 END AS `moved`,
  CASE WHEN ok THEN v8 END AS `calm`,
  CASE WHEN ok THEN v2 END AS `moved.score`,
  CASE WHEN ok THEN CASE WHEN v5 THEN 1.0D ELSE (-1.0D) END END AS `calm.score`,
  ok AS `ok`,
  (NOT follows) AS `no predecessor`
FROM plaudit_4;
