import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { randomOf } from '../testing-random.ts';
import { askDns } from './ask.ts';
import { askedName, encodeQuestion, MalformedMessage, parseAnswer, type Question } from './message.ts';
import { parseDomainName, parseDomainPattern, patternsOf } from './name.ts';
import { recordBytes, replyBytes, TestDns } from './testing.ts';

test('domain names are compared in lower case and without the last dot', () => {
  assert.equal(parseDomainName('WWW.Example.com.'), 'www.example.com');
  assert.equal(parseDomainName('_dmarc.example.com'), '_dmarc.example.com');
  for (const text of [
    '',
    '.',
    'com',
    '*.example.com',
    'a..b',
    '-a.b',
    'a.b-',
    'a b.c',
    'a.b..',
    `${'a'.repeat(64)}.b`,
    `${'a.'.repeat(127)}b`,
  ])
    assert.equal(parseDomainName(text), undefined, text);
});

test('a name with * matches the names below it, at any depth', () => {
  assert.equal(parseDomainPattern('*.Example.com.'), '*.example.com');
  for (const text of ['*', '*.', '*.com', '*.*.example.com', 'a.*.example.com', '*a.example.com', 'example.com'])
    assert.equal(parseDomainPattern(text), undefined, text);
  const patterns = new Set(['*.example.com', '*.b.example.com', '*.other.com']);
  assert.deepEqual(patternsOf('example.com', patterns), []);
  assert.deepEqual(patternsOf('badexample.com', patterns), []);
  assert.deepEqual(patternsOf('b.example.com', patterns), ['*.example.com']);
  assert.deepEqual(patternsOf('c.a.b.example.com', patterns), ['*.b.example.com', '*.example.com']);
});

test('the name of a question is read, of whatever a client sends', () => {
  const question = encodeQuestion(7, { name: 'WWW.Example.com', family: 6 });
  assert.equal(askedName(question), 'www.example.com');
  assert.equal(askedName(replyBytes(question, {})), undefined);
  const random = randomOf(11);
  for (let time = 0; time < 2000; time += 1) {
    const bytes = Buffer.from(question.subarray(0, random(question.length + 1)));
    for (let changes = random(4); changes > 0 && bytes.length > 0; changes -= 1)
      bytes[random(bytes.length)] = random(256);
    const name = askedName(bytes);
    assert.ok(name === undefined || name.length <= 1024);
  }
});

describe('an answer', () => {
  const question: Question = { name: 'www.example.com', family: 4 };
  const asked = encodeQuestion(7, question);
  const address = (last: number): Buffer => Buffer.of(192, 0, 2, last);
  const alias = (name: string): Buffer =>
    Buffer.concat([...name.split('.').flatMap((label) => [Buffer.of(label.length), Buffer.from(label)]), Buffer.of(0)]);
  const parse = (options: Parameters<typeof replyBytes>[1], id = 7) =>
    parseAnswer(replyBytes(asked, options), id, question);
  const texts = (answers: readonly Buffer[]): readonly string[] => {
    const answer = parse({ answers });
    assert.ok(answer !== 'truncated' && answer?.kind === 'addresses', JSON.stringify(answer));
    return answer.addresses.map((one) => `${one.address} ${one.ttlSeconds}`);
  };

  test('has the addresses of the name, and of the end of its CNAMEs, with the shortest TTL on the way', () => {
    assert.deepEqual(
      texts([recordBytes(question.name, 1, 30, address(1)), recordBytes(question.name, 1, 60, address(2))]),
      ['192.0.2.1 30', '192.0.2.2 60'],
    );
    assert.deepEqual(
      texts([
        recordBytes('b.test', 1, 300, address(3)),
        recordBytes(question.name, 5, 20, alias('a.test')),
        recordBytes('A.TEST', 5, 40, alias('b.test')),
      ]),
      ['192.0.2.3 20'],
    );
    assert.deepEqual(texts([recordBytes(question.name, 1, 2 ** 32 - 1, address(1))]), ['192.0.2.1 0']);
  });

  test('has no address of another name, type or size', () => {
    const answers = [
      recordBytes('other.test', 1, 30, address(1)),
      recordBytes(question.name, 28, 30, Buffer.alloc(16)),
      recordBytes(question.name, 1, 30, Buffer.alloc(5)),
      recordBytes('www\u0000.example.com', 1, 30, address(1)),
    ];
    assert.deepEqual(parse({ answers }), { kind: 'none', exists: true, ttlSeconds: undefined });
  });

  test('ends a circle of CNAMEs', () => {
    const answers = [
      recordBytes(question.name, 5, 1, alias('a.test')),
      recordBytes('a.test', 5, 1, alias(question.name)),
    ];
    assert.deepEqual(parse({ answers }), { kind: 'none', exists: true, ttlSeconds: undefined });
  });

  test('says that a name does not exist, and for how long', () => {
    const soa = recordBytes('com', 6, 90, Buffer.concat([Buffer.alloc(18), Buffer.of(0, 0, 0, 45)]));
    assert.deepEqual(parse({ flags: 0x8183, authorities: [soa] }), { kind: 'none', exists: false, ttlSeconds: 45 });
  });

  test('is a failure if the server says so', () => {
    assert.deepEqual(parse({ flags: 0x8182 }), { kind: 'failed', reason: 'SERVFAIL' });
    assert.deepEqual(parse({ flags: 0x8185 }), { kind: 'failed', reason: 'REFUSED' });
  });

  test('to another question is none', () => {
    assert.equal(parse({}, 8), undefined);
    assert.equal(parseAnswer(replyBytes(asked, {}), 7, { ...question, name: 'www.example.org' }), undefined);
    assert.equal(parseAnswer(replyBytes(asked, {}), 7, { ...question, family: 6 }), undefined);
    assert.equal(parseAnswer(asked, 7, question), undefined, 'a question is no answer');
    assert.equal(parse({ flags: 0x8380 }), 'truncated');
  });

  test('of any bytes is a value or malformed', () => {
    const random = randomOf(3);
    const good = replyBytes(asked, {
      answers: [recordBytes(question.name, 5, 20, alias('a.test')), recordBytes('a.test', 1, 300, address(3))],
    });
    let malformed = 0;
    for (let round = 0; round < 20_000; round += 1) {
      const bytes = Buffer.from(good.subarray(0, random(4) === 0 ? random(good.length + 1) : good.length));
      // The id, the flags and the question stay.
      for (let times = random(6); times > 0 && bytes.length > 33; times -= 1)
        bytes[33 + random(bytes.length - 33)] = random(256);
      if (bytes.length > 8) bytes[7] = random(4);
      try {
        parseAnswer(bytes, 7, question);
      } catch (error) {
        assert.ok(error instanceof MalformedMessage, String(error));
        malformed += 1;
      }
    }
    assert.ok(malformed > 100);
  });

  test('with a pointer to itself is malformed', () => {
    const message = replyBytes(asked, { answers: [Buffer.of(0xc0, 33, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 1, 2, 3, 4)] });
    assert.throws(() => parseAnswer(message, 7, question), MalformedMessage);
  });
});

describe('a server is asked', () => {
  let dns: TestDns;
  const { signal } = new AbortController();
  before(async () => {
    dns = await TestDns.start();
  });
  after(() => dns.close());
  const ask = (name: string, family: 4 | 6 = 4) =>
    askDns({ server: dns.server, question: { name, family }, signal, patienceMs: 200 });

  test('for both families', async () => {
    dns.zones.set('a.test', { addresses: ['192.0.2.1', '2001:db8::1'], ttl: 9 });
    assert.deepEqual(await ask('a.test'), { kind: 'addresses', addresses: [{ address: '192.0.2.1', ttlSeconds: 9 }] });
    assert.deepEqual(await ask('a.test', 6), {
      kind: 'addresses',
      addresses: [{ address: '2001:db8::1', ttlSeconds: 9 }],
    });
    assert.deepEqual(await ask('b.test'), { kind: 'none', exists: false, ttlSeconds: 1 });
  });

  test('by a stream for what is too long', async () => {
    const addresses = Array.from({ length: 200 }, (_, index) => `192.0.2.${index}`);
    dns.zones.set('long.test', { addresses });
    const answer = await ask('long.test');
    assert.ok(answer.kind === 'addresses');
    assert.deepEqual(
      answer.addresses.map(({ address }) => address),
      addresses,
    );
  });

  test('three times, and then it has failed', async () => {
    dns.isSilent = true;
    dns.asked.length = 0;
    assert.deepEqual(await ask('a.test'), { kind: 'failed', reason: 'no answer within 0.6 s' });
    assert.equal(dns.asked.length, 3);
    dns.isSilent = false;
  });

  test('and a port that is none is a failure', async () => {
    const question = { name: 'a.test', family: 4 } as const;
    for (const port of [0, 65_536, 1.5]) {
      const answer = await askDns({ server: { address: '127.0.0.1', port }, question, signal });
      assert.deepEqual(answer, { kind: 'failed', reason: `${port} is no port` });
    }
  });

  test('and its refusal is a failure at once', async () => {
    const away = await TestDns.start();
    await away.close();
    const question = { name: 'a.test', family: 4 } as const;
    const answer = await askDns({ server: away.server, question, signal, patienceMs: 60_000 });
    assert.deepEqual(answer, { kind: 'failed', reason: 'ECONNREFUSED' });
  });
});
