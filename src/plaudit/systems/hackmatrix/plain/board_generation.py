"""New games and new stages: what lies where on the board, and where transmissions appear."""

from plaudit.systems.hackmatrix.plain.cells import NEIGHBOURS, PLACES, Place, add
from plaudit.systems.hackmatrix.plain.draws import (
    CONTENTS,
    CORNERS_AND_COUNTS,
    LAYOUT,
    NEW_TRANSMISSIONS,
    PROGRAM_BLOCKS,
    Key,
    Seed,
    derive_seed,
    draw_below,
    draw_seed,
    draw_word,
    fold_in,
    make_chooser,
)
from plaudit.systems.hackmatrix.plain.state import Block, Cell, Player, State, Transmission
from plaudit.systems.hackmatrix.rules import (
    BONUS_CREDITS,
    BONUS_ENERGY,
    BONUS_SIPHONS,
    CORNERS,
    DIRECTIONS,
    ENEMIES,
    FEWEST_BLOCKS,
    LAYOUT_ATTEMPTS,
    MOST_BLOCKS,
    PROGRAM_SPAWN,
    PROGRAMS,
    SLOTS,
    interval_of,
)


def new_game(key: Key, *, stage: int = 1) -> State:
    """Return the start of a game, or of one as if it began on a later stage."""
    state = State()
    _make_board(state, draw_seed(key, 0), first=True)
    if stage > 1:
        state.stage, state.transmissions = stage, []
        begin_stage(state, fold_in(key, 0))
    return state


def begin_stage(state: State, key: Key) -> None:
    """Give a state the board of its stage; its player stands on a corner, enemies and transmissions stay."""
    state.interval = interval_of(state.stage)
    state.turn, state.next_task = 0, state.interval
    state.show = state.calm = state.step_active = False
    state.atk_uses = 0
    state.history = []
    _make_board(state, draw_seed(key, 0), first=False)


def _make_board(state: State, seed: Seed, *, first: bool) -> None:
    drawn_corner, rest = draw_below(derive_seed(seed, CORNERS_AND_COUNTS)[0], len(CORNERS))
    bonus, rest = draw_below(rest, 3)
    further, rest = draw_below(rest, len(CORNERS) - 1)
    more, _ = draw_below(rest, MOST_BLOCKS - FEWEST_BLOCKS + 1)
    if first:
        row, col = CORNERS[drawn_corner]
        bonuses = ({"credits": BONUS_CREDITS}, {"energy": BONUS_ENERGY}, {"data_siphons": BONUS_SIPHONS})
        state.player = Player(row=row, col=col, **bonuses[bonus])
    corner = CORNERS.index(state.player.place)
    state.exit = CORNERS[(corner + 1 + further) % len(CORNERS)]
    blocks = _draw_layout(state, derive_seed(seed, LAYOUT), FEWEST_BLOCKS + more)
    state.cells = _draw_contents(state, seed, blocks)
    place_transmissions(state, derive_seed(seed, NEW_TRANSMISSIONS), plain=state.stage)


def _draw_layout(state: State, seed: Seed, count: int) -> set[Place]:
    """Return the cells of that many blocks: the first attempt that will do, none when no attempt does."""
    taken = {*CORNERS, *(each.place for each in state.entities)}
    eligible = [place for place in PLACES if place not in taken]
    if len(eligible) < count:
        return set()
    for attempt in range(LAYOUT_ATTEMPTS):
        left = eligible.copy()
        words = (draw_word(seed, attempt * MOST_BLOCKS + number) for number in range(count))
        blocks = {left.pop(draw_below(word, len(left))[0]) for word in words}
        if is_valid_layout(blocks, state.exit):
            return blocks
    return set()


def is_valid_layout(blocks: set[Place], exit: Place) -> bool:
    """Return whether all open cells are reached from (0, 0), none through the exit, and all blocks touch one."""
    if any(all(step in blocks for step in NEIGHBOURS[block]) for block in blocks):
        return False
    reached, waiting = {PLACES[0]}, [PLACES[0]]
    while waiting:
        for step in NEIGHBOURS[waiting.pop()]:
            if step not in blocks and step not in reached:
                reached.add(step)
                if step != exit:
                    waiting.append(step)
    return len(reached) == len(PLACES) - len(blocks)


def _draw_contents(state: State, seed: Seed, blocks: set[Place]) -> dict[Place, Cell]:
    choose_program = make_chooser(derive_seed(seed, PROGRAM_BLOCKS))
    contents, programs = derive_seed(seed, CONTENTS), list(PROGRAMS)
    cells = {}
    for number, place in enumerate(PLACES):
        coin, rest = draw_below(draw_word(contents, number), 2)
        if place in blocks:
            tenth, other = draw_below(rest, 10)
            if coin:
                points = draw_below(other, 9)[0] + 1
                block = Block(points=points, spawn=points, question=tenth == 0)
            else:
                program = programs.pop(choose_program(len(programs)))
                block = Block(program=program, spawn=PROGRAM_SPAWN[PROGRAMS.index(program)], question=tenth == 0)
            cells[place] = Cell(block=block)
        elif place == state.exit:
            cells[place] = Cell()
        else:
            twentieth, _ = draw_below(rest, 20)
            amount = 1 + (twentieth >= 9) + (twentieth >= 18)
            siphon = place in CORNERS and place != state.player.place
            cells[place] = Cell(credits=0 if coin else amount, energy=amount if coin else 0, data_siphon=siphon)
    return cells


def place_transmissions(state: State, seed: Seed, *, tasks: int = 0, siphons: int = 0, plain: int = 0) -> None:
    """Add transmissions at the end of the list: scheduled ones, then siphoned ones, then others.

    What finds no free cell, or no slot, is lost.
    """
    enemies, blocks = {enemy.place for enemy in state.enemies}, state.blocks
    taken = {state.player.place} | enemies | blocks | {each.place for each in state.transmissions}
    free = [place for place in PLACES if place not in taken]
    seen = find_line_of_fire(state.player.place, enemies | blocks)
    wanted = min(tasks + siphons + plain, SLOTS - len(state.transmissions), len(free))
    for number in range(wanted):
        choice = [place for place in free if place not in seen] or free
        nth, rest = draw_below(draw_word(seed, number), len(choice))
        row, col = choice[nth]
        free.remove((row, col))
        kind = ENEMIES[draw_below(rest, len(ENEMIES))[0]]
        from_task = number < tasks
        from_siphon = tasks <= number < tasks + siphons
        state.transmissions.append(Transmission(kind, row, col, from_siphon=from_siphon, from_task=from_task))


def find_line_of_fire(player: Place, shields: set[Place]) -> set[Place]:
    """Return the cells of the player's row and column that no enemy or block hides; a shield itself is seen."""
    seen = set()
    for stride in DIRECTIONS:
        place = add(player, stride)
        while place in NEIGHBOURS:
            seen.add(place)
            if place in shields:
                break
            place = add(place, stride)
    return seen
