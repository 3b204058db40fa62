import { z } from 'zod';

/** A structural OpenAPI schema as a CustomResourceDefinition takes it. */
export type JsonSchema = { [keyword: string]: unknown };

const noLowerBound = new Set<unknown>([-Number.MAX_SAFE_INTEGER, -2147483648]);
const noUpperBound = new Set<unknown>([Number.MAX_SAFE_INTEGER, 2147483647]);

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** zod bounds plain integers by what a double or an int32 holds; in a CRD that is noise, the format says it. */
function withoutSafeBounds(schema: JsonSchema): JsonSchema {
  const { minimum, maximum, ...rest } = schema;
  return {
    ...rest,
    ...(minimum === undefined || noLowerBound.has(minimum) ? {} : { minimum }),
    ...(maximum === undefined || noUpperBound.has(maximum) ? {} : { maximum }),
  };
}

function withIntegerFormat(schema: JsonSchema): JsonSchema {
  if (schema['type'] !== 'integer' || schema['format'] !== undefined) return schema;
  const { maximum } = schema;
  return { ...schema, format: typeof maximum === 'number' && maximum <= 2147483647 ? 'int32' : 'int64' };
}

/** An open object keeps unknown fields; structural schemas cannot have properties and additionalProperties at once. */
function withUnknownFields(schema: JsonSchema): JsonSchema {
  const { additionalProperties, properties, ...rest } = schema;
  if (additionalProperties === undefined) return schema;
  if (properties === undefined && isSchema(additionalProperties) && Object.keys(additionalProperties).length > 0)
    return schema;
  const kept = properties === undefined ? rest : { ...rest, properties };
  return additionalProperties === false ? kept : { ...kept, 'x-kubernetes-preserve-unknown-fields': true };
}

const keywordOrder = ['description', 'type', 'format', 'nullable', 'default', 'enum', 'pattern', 'minimum', 'maximum'];

/** The same schema always gives the same text, whatever order zod chose. */
function ordered(schema: JsonSchema): JsonSchema {
  const rank = (key: string): number => {
    const index = keywordOrder.indexOf(key);
    return index === -1 ? keywordOrder.length : index;
  };
  const keys = Object.keys(schema).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return Object.fromEntries(keys.map((key) => [key, schema[key]]));
}

function fixed(schema: JsonSchema): JsonSchema {
  const { $schema: _, propertyNames: __, ...own } = schema;
  const children: JsonSchema = {};
  const { properties, items, additionalProperties } = own;
  if (isSchema(properties))
    children['properties'] = Object.fromEntries(
      Object.entries(properties).map(([name, child]) => [name, isSchema(child) ? fixed(child) : child]),
    );
  if (isSchema(items)) children['items'] = fixed(items);
  if (isSchema(additionalProperties)) children['additionalProperties'] = fixed(additionalProperties);
  return ordered(withUnknownFields(withoutSafeBounds(withIntegerFormat({ ...own, ...children }))));
}

/**
 * zod → structural schema. Fields with a default are optional to the user.
 * @throws when the schema uses what a CRD cannot say (unions, references).
 */
export function structuralSchema(schema: z.ZodType): JsonSchema {
  const json = fixed(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }));
  for (const keyword of ['$ref', 'anyOf', 'oneOf', 'allOf', 'exclusiveMinimum'])
    if (JSON.stringify(json).includes(`"${keyword}":`))
      throw new TypeError(`a kind uses "${keyword}", which a structural schema cannot have; use other keywords`);
  return json;
}
