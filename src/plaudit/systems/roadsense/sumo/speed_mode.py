"""What a car checks before it carries out a speed command: SUMO's speed modes that a convoy needs, by name.

Measured on SUMO 1.28, for a car with a `decel` of 4.5 m/s² that is commanded to brake step by step:

| asked for, m/s² | `ORIGIN` | `ASSISTED` | `EXACT` |
|---:|---:|---:|---:|
| 0.5 | 0.5 | 0.5 | 0.5 |
| 2.0 | 2.0 | 2.0 | 2.0 |
| 4.5 | 4.5 | 4.5 | 4.5 |
| 8.0 | 4.5 | 8.0 | 8.0 |
| 20.0 | 4.5 | 20.0 | 20.0 |
| keeps the safe gap when commanded to drive on | yes | yes | no |

The same holds for `slow_down`. A speed of 0 stops a car at once in `ASSISTED` and `EXACT`, whatever its speed: for a
hard but possible stop, slow it down over `speed / deceleration` seconds. After its seconds a `slow_down` releases it.
"""

ORIGIN = 31
"""All checks, SUMO's default: no command brakes harder than the car's `decel`, and the safe gap is kept."""
ASSISTED = 27
"""The safe gap is kept, but a command may brake harder than the car's `decel`: its scale is real."""
EXACT = 0
"""No checks: a command is carried out whatever it is, and cars can collide.

A car that is *released* in this mode keeps its gap but not the speed limit (SUMO 1.28): go back to `ORIGIN` with it.
"""
