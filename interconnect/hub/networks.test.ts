import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Rejection } from '../model/messages.ts';
import { HubStateError } from './model/errors.ts';
import { attachment, HubBed, type TestMember } from './hub-bed.ts';

const codes = (rejections: readonly Rejection[]) => rejections.map(({ kind, code, holder }) => [kind, code, holder]);
const pathsOf = (member: TestMember, network: string) =>
  member.last?.transitSwitches.find(({ name }) => name === network)?.paths ?? [];

describe('networks and their paths', () => {
  const bed = new HubBed();
  before(() => bed.up());
  after(() => bed.down());
  const say = {
    east:
      (...attachments: ReturnType<typeof attachment>[]) =>
      (member: TestMember) =>
        member.sendAttachments(attachments, 'a1', '172.30.0.11'),
    west:
      (...attachments: ReturnType<typeof attachment>[]) =>
      (member: TestMember) =>
        member.sendAttachments(attachments, 'b1', '172.30.0.21'),
  };

  it('adds paths for all members, and removes paths once all members know of it', async () => {
    let [east, west] = [await bed.member('east'), await bed.member('west')];
    await say.east(attachment(['10.16.0.0/16']))(east);
    await say.west(attachment(['10.17.0.0/16']))(west);
    const before = bed.column('Port_Binding', 'address');
    await bed.restart({ paths: 4 });
    await bed.until(() => bed.rows('Port_Binding').length === 8);
    assert.ok(
      before.every((address) => bed.column('Port_Binding', 'address').includes(address)),
      'no port moved',
    );
    assert.deepEqual(bed.column('Transit_Switch', 'name'), ['ts', 'ts1', 'ts2', 'ts3']);
    east = await bed.member('east');
    await say.east(attachment(['10.16.0.0/16']))(east);
    assert.equal(pathsOf(east, 'ts').length, 4);
    assert.equal(east.members.get('west')?.routes[0]?.nextHops.length, 4, 'also to one that is away');
    await bed.restart({ paths: 2 });
    east = await bed.member('east');
    await east.until(() => pathsOf(east, 'ts').some(({ retiring }) => retiring));
    assert.deepEqual(
      pathsOf(east, 'ts').map(({ retiring, port }) => [retiring, port !== null]),
      [
        [false, true],
        [false, true],
        [true, true],
        [true, true],
      ],
    );
    await new Promise((resolve) => setTimeout(resolve, 400));
    assert.equal(bed.rows('Port_Binding').length, 8, 'the rows stay until west has received the change');
    west = await bed.member('west');
    await west.until(() => pathsOf(west, 'ts').some(({ retiring }) => retiring));
    await east.until(() => pathsOf(east, 'ts').length === 2);
    await east.until(() => east.members.get('west')?.routes[0]?.nextHops.length === 2);
    assert.deepEqual(bed.column('Port_Binding', 'address'), before);
    assert.deepEqual(bed.column('Transit_Switch', 'name'), ['ts', 'ts1']);
    assert.equal(bed.rows('Datapath_Binding').length, 2);
  });

  it('lets the first member that names a network define it; the others agree or do not take part', async () => {
    const [east, west, north] = [await bed.member('east'), await bed.member('west'), await bed.member('north')];
    const blue = { transitSwitch: 'blue', vpc: 'blue' };
    const wish = { ...blue, paths: 1, clusters: ['west', 'east'] };
    assert.deepEqual(await say.east(attachment(['10.16.0.0/16']), attachment(['10.60.0.0/16'], wish))(east), []);
    const [path] = pathsOf(east, 'blue');
    assert.deepEqual(path?.cidrs, ['100.100.1.0/27'], 'the next free of the size of ts');
    const cases: readonly [object, string][] = [
      [{ cidrs: ['100.101.0.0/24'] }, 'TransitSwitchDiffers'],
      [{ paths: 3 }, 'TransitSwitchDiffers'],
      [{ clusters: ['west'] }, 'TransitSwitchDiffers'],
    ];
    for (const [other, code] of cases) {
      const answer = await say.west(attachment(['10.61.0.0/16'], { ...blue, ...other }))(west);
      assert.deepEqual(codes(answer), [['transit-switch', code, 'east']]);
      assert.equal(pathsOf(west, 'blue')[0]?.port, null);
    }
    // The same prefix may be in use on another network.
    assert.deepEqual(await say.west(attachment([]), attachment(['10.16.0.0/16'], blue))(west), []);
    const stranger = await north.sendAttachments([attachment(['10.62.0.0/16'], blue)], 'c1', '172.30.0.31');
    assert.deepEqual(codes(stranger), [['transit-switch', 'ClusterNotListed', 'east']]);
    assert.deepEqual(
      north.last?.transitSwitches.map(({ name }) => name),
      ['ts'],
      'nor is it shown',
    );
    assert.deepEqual(north.members.get('east')?.routes, [], 'who takes part in nothing is shown no routes');
    await east.until(
      () => east.members.get('west')?.routes.some(({ transitSwitch }) => transitSwitch === 'blue') === true,
    );
    // A participant stays one when the definer changes the number of paths, and may still list the former number.
    await say.west(attachment([]), attachment(['10.16.0.0/16'], { ...blue, paths: 1 }))(west);
    assert.deepEqual(
      await say.east(attachment(['10.16.0.0/16']), attachment(['10.60.0.0/16'], { ...wish, paths: 3 }))(east),
      [],
    );
    await west.until(
      () => pathsOf(west, 'blue').length === 3 && pathsOf(west, 'blue').every(({ port }) => port !== null),
    );
    await west.until(() => west.last?.rejections.length === 1);
    assert.deepEqual(codes(west.last?.rejections ?? []), [['transit-switch', 'TransitSwitchDiffers', 'east']]);
    // Whom it lists no more is out.
    const alone = { ...wish, paths: 3, clusters: ['east'] };
    await say.east(attachment(['10.16.0.0/16']), attachment(['10.60.0.0/16'], alone))(east);
    await west.until(() => west.last?.rejections[0]?.code === 'ClusterNotListed');
    await east.until(() => east.members.get('west')?.routes.length === 0);
    // The addresses of the network stay the same.
    const moved = { ...alone, cidrs: ['100.102.0.0/24'] };
    const answer = await say.east(attachment(['10.16.0.0/16']), attachment(['10.60.0.0/16'], moved))(east);
    assert.deepEqual(codes(answer), [['transit-switch', 'TransitNetworkFixed', '']]);
    assert.deepEqual(pathsOf(east, 'blue')[0]?.cidrs, ['100.100.1.0/27']);
  });

  it('refuses names and networks that conflict with existing ones', async () => {
    const north = await bed.member('north');
    const attempt = async (transitSwitch: string, rest: object = {}) =>
      codes(await north.sendAttachments([attachment([], { transitSwitch, ...rest })], 'c1', '172.30.0.31'));
    assert.deepEqual(await attempt('ts7'), [['transit-switch', 'TransitSwitchNameTaken', '']]);
    assert.deepEqual(await attempt('blue2'), [['transit-switch', 'TransitSwitchNameTaken', 'east']]);
    assert.deepEqual(await attempt('Red'), [['transit-switch', 'TransitSwitchInvalid', '']]);
    assert.deepEqual(await attempt('red', { clusters: ['west'] }), [['transit-switch', 'TransitSwitchInvalid', '']]);
    assert.deepEqual(await attempt('red', { clusters: ['North'] }), [['transit-switch', 'TransitSwitchInvalid', '']]);
    assert.deepEqual(await attempt('red', { cidrs: ['100.110.0.0/28'] }), [
      ['transit-switch', 'TransitNetworkInvalid', ''],
    ]);
    assert.match(north.last?.rejections[0]?.message ?? '', /\/27 is the least/);
    assert.deepEqual(await attempt('red', { cidrs: ['100.100.0.0/16'] }), [
      ['transit-switch', 'TransitNetworkInvalid', ''],
    ]);
    // Routers would take the addresses of the network for their own, and reach that part of east no more.
    assert.deepEqual(await attempt('red', { cidrs: ['10.16.128.0/20'] }), [
      ['transit-switch', 'TransitNetworkInvalid', ''],
    ]);
    assert.match(north.last?.rejections[0]?.message ?? '', /overlaps 10\.16\.0\.0\/16 of east/);
    assert.deepEqual(await attempt('red', { cidrs: ['100.110.0.0/24', 'fd00:110::/64'] }), []);
    const within = [attachment(['100.110.0.64/26', '224.1.0.0/16']), attachment([], { transitSwitch: 'red' })];
    assert.deepEqual(codes(await north.sendAttachments(within, 'c1', '172.30.0.31')), [
      ['prefix', 'PrefixOverlap', ''],
      ['prefix', 'PrefixInvalid', ''],
    ]);
    const [path] = pathsOf(north, 'red');
    assert.deepEqual(path?.port?.networks, ['100.110.0.1/27', 'fd00:110::1/67']);
    const many = Array.from({ length: 65 }, (_, index) => attachment([], { transitSwitch: `n-${index}-x`, paths: 1 }));
    assert.deepEqual(codes(await north.sendAttachments(many, 'c1', '172.30.0.31')), [
      ['transit-switch', 'TooManySwitches', ''],
    ]);
    assert.deepEqual(await attempt('red', { cidrs: ['100.110.0.0/24', 'fd00:110::/64'] }), []);
    assert.equal(bed.rows('Transit_Switch').length, 2 + 3 + 2, 'ts, blue, red');
    // A cluster and a network whose ports would be called as others' are.
    await bed.foreignZone('x', { octet: 12, route: '10.77.0.0/16', address: '100.100.0.12' });
    await bed.southbound.transact([
      {
        op: 'update',
        table: 'Port_Binding',
        where: [['logical_port', '==', 'ts-x']],
        row: { logical_port: 'green-north' },
      },
    ]);
    await bed.until(() => bed.column('Port_Binding', 'logical_port').includes('green-north'));
    const clash = await attempt('green', { paths: 1 });
    assert.deepEqual(clash, [['member', 'ClusterNameTaken', 'x']]);
  });

  it('keeps a network as it is when its definer leaves, until a listed member defines it again', async () => {
    const [far, west, north] = [await bed.member('far'), await bed.member('west'), await bed.member('north')];
    const wish = { transitSwitch: 'grey', vpc: 'grey' };
    const clusters = ['far', 'west'];
    await far.sendAttachments([attachment([], { ...wish, clusters, paths: 3 })], 'f1', '172.30.0.61');
    assert.deepEqual(await say.west(attachment([]), attachment([], wish))(west), []);
    const grey = { ...wish, clusters: [...clusters, 'north'] };
    assert.deepEqual(codes(await say.west(attachment([]), attachment([], grey))(west)), [
      ['transit-switch', 'TransitSwitchDiffers', 'far'],
    ]);
    const joinNorth = () => north.sendAttachments([attachment([], wish)], 'c1', '172.30.0.31');
    assert.deepEqual(codes(await joinNorth()), [['transit-switch', 'ClusterNotListed', 'far']]);
    const seen = () => west.last?.transitSwitches.find(({ name }) => name === 'grey');
    const is = () => [seen()?.definedBy, seen()?.clusters, seen()?.paths.length];
    await far.leave();
    await west.until(() => seen()?.definedBy === '');
    await north.until(() => north.last?.rejections[0]?.holder === '');
    assert.match(north.last?.rejections[0]?.message ?? '', /for far, west, .* has left; one of these must add north/);
    assert.deepEqual(await say.west(attachment([]), attachment([], wish))(west), []);
    assert.deepEqual(is(), ['', clusters, 3], 'who says nothing of it changes nothing');
    const attempt = say.west(attachment([]), attachment([], grey));
    assert.match((await attempt(west))[0]?.message ?? '', /setting both its clusters and paths/);
    assert.deepEqual(await say.west(attachment([]), attachment([], { ...grey, paths: 3 }))(west), []);
    assert.deepEqual(is(), ['west', ['far', 'north', 'west'], 3]);
    await north.until(() => north.last?.rejections.length === 0);
    // The same where the membership ends while there is no hub.
    await bed.stop();
    bed.store.delete('west');
    await bed.start();
    const back = await bed.member('north');
    await back.sendAttachments([attachment([], wish)], 'c1', '172.30.0.31');
    const last = back.last?.transitSwitches.find(({ name }) => name === 'grey');
    assert.deepEqual([last?.definedBy, last?.clusters], ['', ['far', 'north', 'west']]);
    await back.sendAttachments([attachment([])], 'c1', '172.30.0.31');
    await bed.until(() => bed.rows('Transit_Switch').every((row) => !String(row['name']).startsWith('grey')));
  });

  it('deletes a network with its last participant, also after a restart', async () => {
    await bed.restart();
    const [east, north] = [await bed.member('east'), await bed.member('north')];
    await say.east(
      attachment(['10.16.0.0/16']),
      attachment(['10.60.0.0/16'], { transitSwitch: 'blue', vpc: 'blue', paths: 3, clusters: ['east'] }),
    )(east);
    assert.equal(bed.transactions, 0, 'networks are read back as they were');
    await say.east(attachment(['10.16.0.0/16']))(east);
    await north.leave();
    await bed.until(() => bed.rows('Transit_Switch').length === 2);
    assert.deepEqual(bed.column('Transit_Switch', 'name'), ['ts', 'ts1']);
    assert.equal(bed.rows('Datapath_Binding').length, 2);
  });

  it('refuses to start with invalid networks', async () => {
    const east = await bed.member('east');
    await say.east(attachment(['10.16.0.0/16']))(east);
    await bed.stop();
    const attempts: readonly [object, RegExp][] = [
      [{ transitCidrs: ['100.101.0.0/16'] }, /ts has 100\.100\.0\.0\/24/],
      [{ transitCidrs: ['100.100.0.0/28'] }, /\/27 is the least/],
      [{ transitCidrs: ['x'] }, /"x" is not a network/],
      [{ paths: 9 }, /a number from 1 to 8/],
    ];
    for (const [options, message] of attempts)
      await assert.rejects(
        bed.start(options),
        (error: Error) => error instanceof HubStateError && message.test(error.message),
      );
    await bed.start();
  });
});
