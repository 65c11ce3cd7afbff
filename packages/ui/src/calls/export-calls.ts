import type { CallDetail, CallRow } from "../shell/store/index.js";

/** A call as one line of JSON. */
export function lineOf(call: CallRow | CallDetail): string {
  const { startMs, durationMs, hasBody: _, ...rest } = call;
  const { message, ...plain } = rest as typeof rest & Partial<Pick<CallDetail, "message">>;
  const body = message?.body;
  return JSON.stringify({
    ...plain,
    startTime: new Date(startMs).toISOString(),
    durationMs,
    ...(body === undefined
      ? {}
      : {
          request: parsed(body.request),
          response: body.response === "" ? undefined : parsed(body.response),
          isTruncated: body.requestTruncated || body.responseTruncated,
        }),
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** How many bodies are read at once. */
const concurrency = 6;

/** The calls as JSON Lines, the oldest first, with the bodies that were captured. */
export async function jsonLinesOf(
  calls: readonly CallRow[],
  read: (id: string) => Promise<CallDetail>,
): Promise<string> {
  const lines = calls.toReversed();
  const texts: string[] = new Array(lines.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < lines.length; index = next++) {
      const call = lines[index];
      if (call === undefined) continue;
      // A body may be gone by now; the rest of the call is still worth a line.
      texts[index] = lineOf(call.hasBody ? await read(call.id).catch(() => call) : call);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return texts.length === 0 ? "" : `${texts.join("\n")}\n`;
}

/** Lets the browser save a file. */
export function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
