/** Security groups on a real API server and a real northbound database, checked after every transaction. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Row } from 'ovsdb-client';
import { pods, securityGroups } from '../../lib/kube/resources.ts';
import { ControllerBed, nameOf } from './controller-bed.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';

let bed: ControllerBed;
/** Observed gaps: a guarded port outside its groups, or a group without its rules. */
const gaps: string[] = [];

before(async () => {
  bed = await ControllerBed.open();
  bed.nb.subscribe(() => gaps.push(...gapsNow()));
  await bed.createNode('n1', '172.30.1.11');
  await bed.start();
});
after(() => bed.close());

const ovn = (key: string): string => `ovn.kubernetes.io/${key}`;
const denyAll = 'ovn.sg.kubeovn_deny_all';

function idsOf(row: Row | undefined): Readonly<Record<string, string>> {
  return (row?.['external_ids'] ?? {}) as Readonly<Record<string, string>>;
}

function textsOf(row: Row | undefined, column: string): readonly string[] {
  return [...((row?.[column] ?? []) as string[])].sort();
}

/** The present gaps of groups and ports. */
function gapsNow(): readonly string[] {
  const found: string[] = [];
  for (const port of bed.rows('Logical_Switch_Port')) {
    const ids = idsOf(port);
    const groups = Object.keys(ids).filter((key) => key.startsWith('associated_sg_') && ids[key] === 'true');
    const wanted = groups.map((key) => `ovn.sg.${key.slice('associated_sg_'.length).replaceAll('-', '.')}`);
    const isGuarded = ids['security_groups'] !== undefined;
    for (const group of isGuarded ? [denyAll, ...wanted] : []) {
      const isGone = group !== denyAll && bed.row('Port_Group', group) === undefined;
      if (!isGone && !textsOf(bed.row('Port_Group', group), 'ports').includes(port._uuid))
        found.push(`${nameOf(port)} is not in ${group}`);
    }
  }
  for (const group of bed.rows('Port_Group')) {
    if (!nameOf(group).startsWith('ovn.sg.')) continue;
    const least = nameOf(group) === denyAll ? 2 : 10;
    if (rulesOf(nameOf(group)).length < least) found.push(`${nameOf(group)} lacks rules`);
  }
  return found;
}

interface AclText {
  readonly uuid: string;
  readonly text: string;
  readonly tier: unknown;
}

function isTiered(): boolean {
  return bed.nb.schema.tables['ACL']?.columns['tier'] !== undefined;
}

/** Where later tiers follow, what reaches a pod is allowed by passing it on to them. */
function allowed(): string {
  return isTiered() ? 'pass' : 'allow-related';
}

function rulesOf(group: string): readonly AclText[] {
  const acls = textsOf(bed.row('Port_Group', group), 'acls').map((uuid) => bed.nb.cache.table('ACL').rows.get(uuid));
  return acls.flatMap((row) =>
    row === undefined
      ? []
      : [
          {
            uuid: row._uuid,
            text: ['direction', 'priority', 'action', 'match'].map((column) => String(row[column])).join(' '),
            tier: row['tier'],
          },
        ],
  );
}

/** A group's own rules, without those of every group. */
function ownRules(name: string): readonly AclText[] {
  return rulesOf(`ovn.sg.${name}`).filter(({ text }) => !text.includes(' 2005 '));
}

async function annotate(name: string, values: Readonly<Record<string, string | null>>): Promise<void> {
  const annotations = Object.fromEntries(Object.entries(values).map(([key, value]) => [ovn(key), value]));
  await bed.kube.patch(pods, { namespace: 'default', name }, 'merge', { metadata: { annotations } });
}

async function pod(name: string, groups: string): Promise<string> {
  await bed.createPod(name, { annotations: { [ovn('security_groups')]: groups } });
  return bed.address(name);
}

const port = (name: string): Row | undefined => bed.row('Logical_Switch_Port', `${name}.default`);

const allow = (priority: number, remoteAddress: string, more: object = {}): object => ({
  ipVersion: 'ipv4',
  priority,
  remoteType: 'address',
  remoteAddress,
  policy: 'allow',
  ...more,
});

async function condition(name: string, type: string): Promise<{ status: string; reason: string; message: string }> {
  return eventually(`condition ${type} of ${name}`, async () => {
    const conditions = (await bed.status(securityGroups, name))['conditions'] as
      | { type: string; status: string; reason: string; message: string }[]
      | undefined;
    return conditions?.find((one) => one.type === type);
  });
}

async function untilCondition(name: string, type: string, status: string, pattern = /(?:)/): Promise<void> {
  await eventually(`${type}=${status} of ${name}`, async () => {
    const { status: is, message } = await condition(name, type);
    return is === status && pattern.test(message);
  });
}

describe('security groups', () => {
  test('a security group has a port group, two address sets and rules with Kube-OVN’s priorities', async () => {
    await bed.create(securityGroups, 'web-tier', {
      allowSameGroupTraffic: true,
      ingressRules: [
        allow(1, '10.0.0.0/8', { protocol: 'tcp', portRangeMin: 80, portRangeMax: 443 }),
        allow(16384, '172.16.0.0/12', { policy: 'drop' }),
      ],
      egressRules: [allow(2, '0.0.0.0/0')],
    });
    await untilCondition('web-tier', 'Ready', 'True');
    const group = '@ovn.sg.web.tier';
    const set = '$ovn.sg.web.tier.associated';
    assert.deepEqual(
      ownRules('web.tier')
        .map(({ text }) => text)
        .sort(),
      [
        `from-lport 18482 allow-related inport == ${group} && ip4 && ip4.dst == 0.0.0.0/0`,
        `from-lport 2004 allow-related inport == ${group} && ip4 && ip4.dst == ${set}.v4`,
        `from-lport 2004 allow-related inport == ${group} && ip6 && ip6.dst == ${set}.v6`,
        `to-lport 18483 ${allowed()} outport == ${group} && ip4 && ip4.src == 10.0.0.0/8 && 80 <= tcp.dst <= 443`,
        `to-lport 2004 ${allowed()} outport == ${group} && ip4 && ip4.src == ${set}.v4`,
        `to-lport 2004 ${allowed()} outport == ${group} && ip6 && ip6.src == ${set}.v6`,
        `to-lport 2100 drop outport == ${group} && ip4 && ip4.src == 172.16.0.0/12`,
      ],
    );
    // What reaches a pod is dropped in tier 1 only if a rule has passed it on.
    const drops = [
      `from-lport 2003 drop inport == @${denyAll} && ip`,
      `to-lport 2003 drop outport == @${denyAll} && ip`,
    ];
    assert.deepEqual(
      rulesOf(denyAll)
        .map(({ text, tier }) => `${String(tier)}: ${text}`)
        .sort(),
      isTiered() ? [`0: ${drops[0]}`, `0: ${drops[1]}`, `1: ${drops[0]}`] : drops.map((drop) => `undefined: ${drop}`),
    );
    const status = await bed.status(securityGroups, 'web-tier');
    assert.equal(status['portGroup'], 'ovn.sg.web.tier');
    assert.equal(status['allowSameGroupTraffic'], true);
    assert.equal(status['ingressLastSyncSuccess'], true);
    assert.match(String(status['egressMd5']), /^[0-9a-f]{32}$/);
  });

  test('a port is a member of its groups from its creation, and annotations change its memberships', async () => {
    const address = await pod('web', 'web-tier');
    assert.deepEqual(bed.members('ovn.sg.web.tier'), ['web.default']);
    assert.deepEqual(bed.members(denyAll), ['web.default']);
    assert.deepEqual(textsOf(bed.row('Address_Set', 'ovn.sg.web.tier.associated.v4'), 'addresses'), [address]);
    assert.equal(idsOf(port('web'))['security_groups'], 'web-tier');
    assert.equal(idsOf(port('web'))['associated_sg_web-tier'], 'true');
    await bed.create(securityGroups, 'db', { ingressRules: [] });
    await annotate('web', { security_groups: 'db,web-tier' });
    await eventually('the second group', () => bed.members('ovn.sg.db').length === 1);
    await annotate('web', { security_groups: 'db' });
    await eventually('out of the first', () => bed.members('ovn.sg.web.tier').length === 0);
    const associated = () => textsOf(bed.row('Address_Set', 'ovn.sg.web.tier.associated.v4'), 'addresses');
    await eventually('its address too', () => associated().length === 0);
    await annotate('web', { security_groups: null });
    await eventually('no group', () => bed.members(denyAll).length === 0 && bed.members('ovn.sg.db').length === 0);
    await annotate('web', { security_groups: 'web-tier' });
    await eventually('back', () => bed.members('ovn.sg.web.tier').length === 1);
    assert.deepEqual(gaps, []);
  });

  test('an edit of one rule replaces one row in one transaction', async () => {
    const beforeEdit = rulesOf('ovn.sg.web.tier');
    const seen: number[] = [];
    const unsubscribe = bed.nb.subscribe(() => seen.push(rulesOf('ovn.sg.web.tier').length));
    await bed.kube.patch(securityGroups, { name: 'web-tier' }, 'merge', {
      spec: { egressRules: [allow(2, '10.0.0.0/8')] },
    });
    await eventually('the edited rule', () =>
      ownRules('web.tier').some(({ text }) => /ip4.dst == 10.0.0.0.8/.test(text)),
    );
    unsubscribe();
    const afterEdit = rulesOf('ovn.sg.web.tier');
    const kept = afterEdit.filter(({ uuid }) => beforeEdit.some((one) => one.uuid === uuid));
    assert.equal(kept.length, beforeEdit.length - 1);
    assert.deepEqual([...new Set(seen)], [beforeEdit.length]);
  });

  test('a port whose group does not exist is closed and has an event, until the group is created', async () => {
    await pod('early', 'late');
    assert.deepEqual(bed.members(denyAll), ['early.default', 'web.default']);
    await bed.event('ValidatePodNetworkFailed', 'early', /SecurityGroupNotFound: .*late/);
    await bed.create(securityGroups, 'late', { ingressRules: [allow(1, '0.0.0.0/0')] });
    await eventually('the group has its member', () => bed.members('ovn.sg.late').join() === 'early.default');
    await bed.kube.delete(securityGroups, { name: 'late' });
    await eventually('the group is gone', () => bed.row('Port_Group', 'ovn.sg.late') === undefined);
    assert.ok(bed.members(denyAll).includes('early.default'), 'its members stay closed');
    await eventually('its set too', () => bed.row('Address_Set', 'ovn.sg.late.associated.v4') === undefined);
    await bed.deletePod('early');
  });

  test('the older of two groups with the same OVN name is in force, and its deletion puts the other in force', async () => {
    await bed.create(securityGroups, 'web.tier', { ingressRules: [allow(1, '0.0.0.0/0')] });
    await untilCondition('web.tier', 'Ready', 'False', /web-tier: choose another name/);
    await pod('twin', 'web.tier');
    assert.deepEqual(bed.members('ovn.sg.web.tier'), ['web.default']);
    await annotate('web', { security_groups: 'db' });
    await bed.kube.delete(securityGroups, { name: 'web-tier' });
    await untilCondition('web.tier', 'Ready', 'True');
    await eventually('the heir has its member', () => bed.members('ovn.sg.web.tier').join() === 'twin.default');
  });

  test('invalid rules are reported and allow nothing, and the other rules apply', async () => {
    await bed.create(securityGroups, 'odd', {
      ingressRules: [
        allow(1, '10.9.0.0/16'),
        { ...allow(2, ''), remoteType: 'securityGroup', remoteSecurityGroup: 'nobody' },
        allow(3, '10.8.0.0/16', { policy: 'pass' }),
      ],
    });
    await untilCondition('odd', 'Validated', 'False', /spec.ingressRules\[1\]: remoteSecurityGroup 'nobody'/);
    const odd = '@ovn.sg.odd';
    const texts = (tier: number | undefined): readonly string[] =>
      ownRules('odd')
        .filter((one) => one.tier === tier)
        .map(({ text }) => text)
        .sort();
    assert.deepEqual(texts(isTiered() ? 0 : undefined), [
      `to-lport 18481 ${isTiered() ? 'pass' : 'drop'} outport == ${odd} && ip4 && ip4.src == 10.8.0.0/16`,
      `to-lport 18483 ${allowed()} outport == ${odd} && ip4 && ip4.src == 10.9.0.0/16`,
    ]);
    // No group of tier 1 allows what is passed on.
    if (isTiered())
      await eventually('the rules of tier 1', () => {
        const [last, ...rest] = texts(1).filter((text) => !text.startsWith('to-lport 31999 pass '));
        assert.equal(last, `to-lport 1 drop outport == ${odd} && ip4 && ip4.src == 10.8.0.0/16`);
        return (
          rest.join('; ') ===
          [
            `to-lport 31998 drop outport == ${odd} && ip4 && ip4.src == 10.8.0.0/16`,
            `to-lport 32000 pass outport == ${odd} && ip4 && ip4.src == 10.9.0.0/16`,
          ].join('; ')
        );
      });
    if (!isTiered())
      await untilCondition('odd', 'Validated', 'False', /spec.ingressRules\[2\]: policy 'pass'.*ACL tiers/);
    await bed.create(securityGroups, 'nobody', {});
    await eventually('the rule', () =>
      ownRules('odd').some(({ text }) => text.includes('$ovn.sg.nobody.associated.v4')),
    );
  });

  test('a finished pod leaves its groups', async () => {
    await pod('job', 'db');
    assert.ok(bed.members('ovn.sg.db').includes('job.default'));
    const path = '/api/v1/namespaces/default/pods/job/status';
    const body = { status: { phase: 'Succeeded' } };
    await bed.kube.request('PATCH', path, body, { contentType: 'application/merge-patch+json' });
    await eventually('the port is gone', () => port('job') === undefined);
    await eventually('it is closed no more', () => !bed.members(denyAll).includes('job.default'));
    const address = await bed.address('web');
    const members = () => textsOf(bed.row('Address_Set', 'ovn.sg.db.associated.v4'), 'addresses');
    await eventuallyPasses(() => assert.deepEqual(members(), [address]));
  });
});

describe('a restart', () => {
  test('writes nothing', async () => {
    await bed.quiet();
    const beforeRestart = [await bed.versions(), bed.changes] as const;
    await bed.kill();
    await bed.start();
    await bed.quiet();
    assert.deepEqual([await bed.versions(), bed.changes], beforeRestart);
  });

  test('leaves no port outside its groups and no group without its rules', () => {
    assert.deepEqual(gaps, []);
  });
});
