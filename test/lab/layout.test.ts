import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isPlainPath } from './layout.ts';

it('keeps state beside the checkout only where its path means the same to every program', () => {
  assert.ok(isPlainPath('/home/me/isthmus-1.0_x/.lab/demo'));
  for (const part of [' ', "'", '"', '$', '#', ',', ':', '%', '\\', '*', 'é', '\n'])
    assert.ok(!isPlainPath(`/home/a${part}b/.lab/demo`), JSON.stringify(part));
  assert.ok(!isPlainPath(`/home/${'a'.repeat(60)}/.lab/demo`));
});
