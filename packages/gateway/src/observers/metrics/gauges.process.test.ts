import { type ConnectionInfo, type CredentialEnding, channels } from "@wirescope/tool-server";
import { expect, test, vi } from "vitest";
import { countCredentialOperations } from "./gauges.js";

const pollOptions = { timeout: 60_000, interval: 10 };
const ended = channels["credential:ended"];

const infoOf = (name: string): ConnectionInfo => ({
  kind: "http",
  name,
  target: "https://notes.example/mcp",
  tenant: {},
  credential: () => ({ kind: "oauth", summary: "", headers: [], environment: [] }),
});

function end(subject: ConnectionInfo, how: Pick<CredentialEnding, "outcome" | "code">): void {
  ended.publish({ operation: { subject, kind: "refresh", cause: "renewal" }, ...how, durationMs: 1 });
}

const fail = (error: unknown): never => {
  throw error;
};

test("reports an exception as a defect, and keeps the process running", () => {
  const defects: unknown[] = [];
  const error = new Error("not known");
  const isOurs = (): never => fail(error);
  const counts = countCredentialOperations(isOurs, (defect) => void defects.push(defect));
  end(infoOf("notes"), { outcome: "done" });
  expect([defects, counts.values()]).toEqual([[error], []]);
});

test("counts refreshes by server, outcome and code, and ignores those of other gateways", () => {
  const [notes, others] = [infoOf("notes"), infoOf("notes")];
  const counts = countCredentialOperations((info) => info === notes, fail);
  end(notes, { outcome: "done" });
  end(notes, { outcome: "done" });
  end(notes, { outcome: "failed", code: "TOKEN_REFUSED" });
  end(notes, { outcome: "failed" });
  end(notes, { outcome: "cancelled", code: "CREDENTIAL_CLOSED" });
  end(others, { outcome: "done" });
  const at = { server: "notes", operation: "refresh" };
  expect(counts.values()).toEqual([
    { labels: { ...at, outcome: "done" }, value: 2 },
    { labels: { ...at, outcome: "failed", code: "TOKEN_REFUSED" }, value: 1 },
    { labels: { ...at, outcome: "failed", code: "_OTHER" }, value: 1 },
    { labels: { ...at, outcome: "cancelled" }, value: 1 },
  ]);
});

test("limits the number of series while servers are added and removed, and counts every operation", () => {
  const counts = countCredentialOperations(({ name }) => name.startsWith("server-"), fail);
  for (let number = 0; number < 3000; number += 1) end(infoOf(`server-${number}`), { outcome: "done" });
  end(infoOf("server-7"), { outcome: "done" });
  const values = counts.values();
  expect(values).toHaveLength(2001);
  expect(values.reduce((sum, { value }) => sum + value, 0)).toBe(3001);
  expect(values[7]?.value).toBe(2);
});

test("does not keep a discarded gateway in memory", async () => {
  // In a separate function, because a function keeps its references.
  const begin = (): void => void countCredentialOperations(() => true, fail).values();
  begin();
  expect(ended.hasSubscribers).toBe(true);
  await vi.waitFor(() => {
    globalThis.gc?.();
    // A discarded counter unsubscribes at the next message.
    end(infoOf("notes"), { outcome: "done" });
    expect(ended.hasSubscribers).toBe(false);
  }, pollOptions);
});
