/**
 * The kinds of our API: one zod schema per kind gives the types the rooms parse into, the CRD in the chart and the page in
 * docs/reference. A schema contains only checks that a structural schema and cheap CEL of Kubernetes 1.30 can express (no CEL
 * ip or cidr library; strings and arrays are bounded so that the rules stay within the cost budget). The rooms check the rest
 * and report a condition. Field names and accepted values of kubeovn.io kinds are Kube-OVN's: never make them stricter than
 * the values that the product can serve.
 */
import { z } from 'zod';

/** A CEL rule with the message for the user when it is violated. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
  /** The field at fault, relative to the rule: `.spec.vpc`. */
  readonly fieldPath?: string;
}

/** API servers before 1.33 accept a field with such a name only in its escaped form. */
const reserved =
  /\.(as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return|true|var|void|while)\b/;

/** Metadata that adds CEL rules to a schema. @throws Error if a rule names a field by a reserved word */
export function rules(...list: readonly Rule[]): { 'x-kubernetes-validations': Rule[] } {
  for (const { rule } of list) {
    const [, name] = reserved.exec(rule.replaceAll(/'[^']*'/g, "''")) ?? [];
    if (name !== undefined) throw new Error(`a field in a rule has a reserved word of CEL: .__${name}__ for .${name}`);
  }
  return { 'x-kubernetes-validations': [...list] };
}

/** Metadata of an array whose items have an identity, so that different writers can own different items. */
export function mapList(...keys: readonly string[]): {
  'x-kubernetes-list-type': 'map';
  'x-kubernetes-list-map-keys': string[];
} {
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [...keys] };
}

export const dateTime = z.string().meta({ format: 'date-time' });

export const condition = z.object({
  type: z.string().max(316),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(1024).optional(),
  message: z.string().max(32768).optional(),
  observedGeneration: z.int().optional(),
  lastTransitionTime: dateTime.optional(),
  lastUpdateTime: dateTime.optional(),
});
export type Condition = z.infer<typeof condition>;

export const conditions = z
  .array(condition)
  .max(32)
  .meta(mapList('type'))
  .describe('Conditions of the object, one entry per type.');

export const labelSelector = z.object({
  matchLabels: z.record(z.string(), z.string()).optional(),
  matchExpressions: z
    .array(
      z.object({
        key: z.string(),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: z.array(z.string()).optional(),
      }),
    )
    .optional(),
});
export type LabelSelector = z.infer<typeof labelSelector>;

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'boolean' | 'integer' | 'number' | 'date';
  readonly path: string;
  /** Columns with priority 1 are shown only with `-o wide`. */
  readonly priority?: number;
}

/** The definition of a kind for the chart, the documentation and the rooms. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly scope: 'Cluster' | 'Namespaced';
  /** Absent if the object is only a report. */
  readonly spec?: z.ZodType;
  /** Fields beside `metadata` of an object that is only data, such as an EndpointSlice. */
  readonly data?: z.ZodObject;
  readonly status?: z.ZodType;
  /** With a status, whether it is a subresource. */
  readonly hasStatusSubresource: boolean;
  /** Whether `kubectl scale` sets `.spec.replicas`; the status then has `replicas` and `labelSelector`. */
  readonly hasScale?: boolean;
  readonly columns: readonly Column[];
  /** CEL rules over the whole object. */
  readonly rules?: readonly Rule[];
  readonly description: string;
}

export const ageColumn: Column = { name: 'Age', type: 'date', path: '.metadata.creationTimestamp' };

/** The reason of the condition `Ready`, or of a condition with the same meaning, as a column. */
export function reasonColumn(type = 'Ready'): Column {
  return { name: 'Reason', type: 'string', path: `.status.conditions[?(@.type=="${type}")].reason` };
}

/** The status of one condition as a column. */
export function conditionColumn(type: string, name: string = type): Column {
  return { name, type: 'string', path: `.status.conditions[?(@.type=="${type}")].status` };
}
