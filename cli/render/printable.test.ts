import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { paintFor } from './paint.ts';
import { inLine, printable } from './printable.ts';
import { renderTable } from './table.ts';

describe('text for a terminal', () => {
  it('shows control characters and marks of direction instead of sending them', () => {
    assert.equal(printable('\u001B]0;title\u0007', false), '\\u001b]0;title\\u0007');
    assert.equal(printable('\u009B2J\u202Etxt\r\u007F', true), '\\u009b2J\\u202etxt\\u000d\\u007f');
    assert.equal(printable('plain äß 日本\n\tline', false), 'plain äß 日本\n\tline');
    assert.equal(inLine('a\nb\tc'), 'a\\u000ab\\u0009c');
    assert.equal(printable('a\u{E0041}b\u200D', false), 'a\\udb40\\udc41b\\u200d');
  });

  it('keeps colours of this program, and no other sequence', () => {
    const paint = paintFor(true);
    assert.equal(printable(paint('bad', 'bad'), true), paint('bad', 'bad'));
    assert.equal(printable(`${paint('x', 'good')}\u001B[2J`, true), `${paint('x', 'good')}\\u001b[2J`);
    assert.equal(printable(paint('bad', 'bad'), false), '\\u001b[31mbad\\u001b[0m');
  });

  it('leaves JSON that means the same', () => {
    const value = { name: 'a\u009Bb\u202E\u001B' };
    assert.deepEqual(JSON.parse(printable(JSON.stringify(value), false)), value);
  });

  it('keeps a name with a line feed within its cell', () => {
    const lines = renderTable(['NAME', 'STATE'], [['west\nfake   ok', 'down']], paintFor(false));
    assert.deepEqual(lines, ['NAME                  STATE', 'west\\u000afake   ok   down']);
  });
});
