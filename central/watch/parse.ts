/**
 * Parses plans and reports. In: text of a ConfigMap or a file, which may have been edited by hand. Out: values, or undefined if the text is not
 * valid.
 */
import { z } from 'zod';
import { nodeAddress } from '../model/databases.ts';
import type { Plan } from '../model/plan.ts';
import type { Report } from '../model/report.ts';

const address = z.string().refine((text) => nodeAddress(text) === text);
const uuid = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const raft = z.string().regex(/^(ssl|tcp):[0-9a-fA-F.:[\]]+$/);
const time = z.string().regex(/^\d{8}T\d{6}Z$/);
const source = z.object({
  copy: z.union([z.literal(['none', 'standalone']), uuid]),
  backup: time.exactOptional(),
});

const plan: z.ZodType<Plan> = z.object({
  generation: z.int().positive(),
  founder: z.string(),
  from: z.object({ nb: source.exactOptional(), sb: source.exactOptional() }).default({}),
  clusters: z.object({ nb: uuid.exactOptional(), sb: uuid.exactOptional() }).default({}),
  members: z.record(z.string(), address),
});

const database = z.object({
  model: z.literal(['none', 'standalone', 'clustered']),
  cid: uuid.exactOptional(),
  sid: uuid.exactOptional(),
  address: raft.exactOptional(),
  joining: z.literal(true).exactOptional(),
  connected: z.literal(true).exactOptional(),
  role: z.literal(['leader', 'follower', 'candidate']).exactOptional(),
  end: z.object({ term: z.int(), index: z.int() }).exactOptional(),
  term: z.int().exactOptional(),
  servers: z
    .array(z.object({ sid: z.string(), address: raft, isSilent: z.literal(true).exactOptional() }))
    .exactOptional(),
  strangers: z.array(uuid).exactOptional(),
  lost: z.string().exactOptional(),
});

const report: z.ZodType<Report> = z.object({
  address,
  generation: z.int().nonnegative(),
  databases: z.object({ nb: database, sb: database }),
  isFull: z.literal(true).exactOptional(),
  backups: z.array(time).default([]),
  southbound: z.array(time).default([]),
});

export function parsePlan(text: string | undefined): Plan | undefined {
  return parse(plan, text);
}

export function parseReport(text: string | undefined): Report | undefined {
  return parse(report, text);
}

function parse<T>(shape: z.ZodType<T>, text: string | undefined): T | undefined {
  if (text === undefined) return undefined;
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
