/** Reads columns of cached rows into narrow types; values of another type read as empty, like columns that the server lacks. */
import type { Row } from 'ovsdb-client';

export function textOf(row: Row, column: string): string {
  const value = row[column];
  return typeof value === 'string' ? value : '';
}

export function integerOf(row: Row, column: string): number {
  const value = row[column];
  return typeof value === 'number' ? value : 0;
}

export function textsOf(row: Row, column: string): readonly string[] {
  const value = row[column];
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

export function mapOf(row: Row, column: string): Readonly<Record<string, string>> {
  const value = row[column];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return value as Readonly<Record<string, string>>;
}
