import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noLink, type LinkState } from '../model/link-state.ts';
import { connected, disconnected, isRefusal, isRenewalDue, named, notRenamed, renewed } from './link-state.ts';

const joined: LinkState = connected({ ...noLink, cluster: 'east' });

describe('the state of the link', () => {
  it('has the name that the hub uses, and reports that another name is wanted', () => {
    assert.deepEqual(named(joined, 'east', 'east'), joined);
    const renaming = named(joined, 'east', 'ost');
    assert.equal(renaming.cluster, 'east');
    assert.equal(renaming.renaming?.code, 'Renaming');
    assert.match(renaming.renaming.message, /renamed from "east" to "ost"/);
  });

  it('keeps the reason of a rename that failed until the hub uses another name', () => {
    const refused = notRenamed(joined, 'ost', { code: 'TokenMissing', message: 'no token' });
    assert.deepEqual(named(refused, 'east', 'ost').renaming, refused.renaming);
    assert.match(refused.renaming?.message ?? '', /keeps the name "east" until the hub calls it "ost": no token/);
    assert.equal(named(refused, 'ost', 'ost').renaming, undefined);
    assert.equal(named(refused, 'west', 'ost').renaming?.code, 'Renaming');
  });

  it('stays joined while the hub is unreachable, and drops the problem with the next session', () => {
    const problem = { code: 'HubUnreachable', message: 'no answer' };
    const away = disconnected(joined, problem);
    assert.deepEqual([away.isJoined, away.isConnected, away.problem], [true, false, problem]);
    assert.equal(connected(away).problem, undefined);
    assert.deepEqual([isRefusal(problem), isRefusal({ ...problem, code: 'NotAMember' })], [false, true]);
  });

  it('has the reason of a failed renewal until one succeeds', () => {
    const problem = { code: 'HubUnavailable', message: 'later' };
    const failed = renewed(joined, problem);
    assert.equal(failed.renewal, problem);
    assert.deepEqual(renewed(failed, undefined), joined);
  });

  it('has a certificate that is due at two thirds of its life', () => {
    const validity = { notBeforeMs: 1000, notAfterMs: 4000 };
    assert.deepEqual([isRenewalDue(validity, 2999), isRenewalDue(validity, 3000)], [false, true]);
  });
});
