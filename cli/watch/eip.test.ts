import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEip, readBindings } from './eip.ts';
import type { OvnTools } from './ovn-tools.ts';

function toolsOf(text: string, asked: (readonly string[])[]): OvnTools {
  return {
    where: 'here',
    run(program, argv) {
      asked.push([program, ...argv]);
      return Promise.resolve({ text });
    },
  };
}

test('each port is asked for once, by its name as one word', async () => {
  const asked: (readonly string[])[] = [];
  const bound = await readBindings(toolsOf('', asked), ['cr-blue-external', 'web.default', 'web.default']);
  assert.deepEqual('bindings' in bound && [...bound.bindings], []);
  const found = (port: string): string =>
    `-- --columns=logical_port,chassis,nat_addresses find Port_Binding logical_port="${port}"`;
  const chassis = 'ovn-sbctl --format=json --columns=_uuid,name list Chassis';
  assert.deepEqual(
    asked.map((words) => words.join(' ')),
    [`${chassis} ${found('cr-blue-external')} ${found('web.default')}`],
  );
});

test('a text of a user that is no name does not reach a program', async () => {
  for (const name of ['web" || 1 == "1', 'a b', '--db=x;']) {
    const asked: (readonly string[])[] = [];
    const answer = await readBindings(toolsOf('', asked), [name]);
    assert.equal('code' in answer && answer.code, 'OvnNotAsked', name);
    assert.deepEqual(asked, []);
  }
});

test('the router of an OvnEip of type lrp is found by its label, or by its name if a user made it', () => {
  const routerOf = (name: string, spec: object, labels?: Readonly<Record<string, string>>): string =>
    parseEip({ metadata: { name, uid: 'u', resourceVersion: '1', ...(labels && { labels }) }, spec }).routerOf;
  assert.equal(routerOf('blue-external', { type: 'lrp' }, { 'isthmus.network/gateway-of': 'blue' }), 'blue');
  assert.equal(routerOf('a-b-external', { type: 'lrp' }), 'a-b');
  assert.equal(routerOf('blue-net-2', { type: 'lrp', externalSubnet: 'net-2' }), 'blue');
  assert.equal(routerOf('blue-net', { type: 'lrp' }), '');
  assert.equal(routerOf('blue-external', {}), '');
});
