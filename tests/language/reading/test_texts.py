"""Strings that are known when a term is read name keys and ways to compute; those of a row are only compared."""

import pytest

from support.arrays import HEADER, assert_means, refusal

WITH_SCALES = HEADER + "SCALES = {'far_scale': 2.0, 'big scale': 3.0, 'far1': 5.0}\nNAMES = ('far_scale', 'far1')\n"

KNOWN = [
    "x * SCALES[f'{\"far\"}_scale'] + SCALES[f'far{1}'] + SCALES[f'{\"big\":s} {\"scale\"!s}']",
    "x * SCALES['{}_{}'.format('far', 'scale')] + SCALES['{a}1'.format(a='far')]",
    "x * SCALES['%s_%s' % ('far', 'scale')] + SCALES['far%d' % 1] + SCALES['far' + '_scale']",
    "x * sum(SCALES[name] for name in NAMES if name.startswith('far')) + sum(name.endswith('1') for name in NAMES)",
    "x * SCALES['FAR1'.lower()] + SCALES['big_scale'.replace('_', ' ')] + SCALES['_'.join(['far', 'scale'])]",
    "x * ('scale' in 'far_scale') + ('near' not in 'far_scale') + SCALES['far1,y'.split(',')[0]] + SCALES['far' + str(1)]",
    "x if 'gaussian'.upper() == 'GAUSSIAN' and 'a' != 'b' and 'linear' in ('linear', 'cosine') else -x",
]


@pytest.mark.parametrize("text", KNOWN)
def test_a_string_that_is_known_is_what_python_makes_of_it(text):
    assert_means(text, WITH_SCALES)


REFUSED = {
    "an f-string of data": ("x * SCALES[f'{x}']", "cannot build strings of what a row holds", "Compare a category"),
    "a format of data": ("x * SCALES['{}'.format(x)]", "cannot build strings of what a row holds", "category"),
    "a wrong format": ("x * SCALES['%d' % 'a']", "this string cannot be built", ""),
    "a method that is no part": ("x * 'a'.encode()", "a string has no `.encode()` here", "startswith"),
}


@pytest.mark.parametrize(("text", "what", "advice"), REFUSED.values(), ids=REFUSED)
def test_a_string_that_is_not_known_is_refused(text, what, advice):
    message = refusal(text, WITH_SCALES)
    assert what in message
    assert advice in message
