/** A reporter of the test runner: the files with a test that failed, one in a line. */
// oxlint-disable-next-line import/no-default-export -- as the runner wants it.
export default async function* failedFiles(events) {
  const files = new Set();
  for await (const { type, data } of events) if (type === 'test:fail') files.add(data.file ?? data.name);
  for (const file of files) yield `${file}\n`;
}
