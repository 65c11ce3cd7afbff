import type { ServerStatus } from "@wirescope/gateway";
import { describe, expect, test } from "vitest";
import { createServerCommands } from "./server-commands.js";
import { type ToDo, toDoOf } from "./to-do.js";

function status(name: string, failure?: { code?: string; message: string }): ServerStatus {
  return {
    name,
    state: failure === undefined ? "READY" : "TRANSIENT_FAILURE",
    target: undefined,
    server: undefined,
    protocolVersion: undefined,
    credential: undefined,
    authentication: undefined,
    failure: failure && { code: failure.code, message: failure.message, at: 0 },
    tools: undefined,
    idlePatterns: [],
    callsInFlight: 0,
  };
}

const found = createServerCommands({
  program: "wirescope",
  areNamed: false,
  isDemo: false,
  fileOf: () => "/p/.mcp.json",
});

function toDo(code: string, message: string, commands = found): ToDo | undefined {
  return toDoOf([status("api", { code, message })], commands, (server) => `http://gateway/${server}`)[0];
}

test("what is to be done follows from why a server does not work", () => {
  const servers = [
    status("fine"),
    status("new one", { code: "NOT_TRUSTED", message: "It is not approved." }),
    status("notes", { code: "SIGN_IN_NEEDED", message: "Sign in." }),
    status("api", { code: "VARIABLE_UNUSABLE", message: 'The server "api" cannot be used. KEY is not set. Set it.' }),
    status("web", { code: "ENTRY_INVALID", message: "The url is of http." }),
    status("down", { code: "SERVER_UNREACHABLE", message: "Cannot reach it: nothing listens there. Check the port." }),
  ];
  expect(toDoOf(servers, found, (server) => `http://gateway/${server}`)).toEqual([
    { server: "new one", problem: "is not approved yet", command: "wirescope trust 'new one'" },
    { server: "notes", problem: "wants you to sign in", command: "http://gateway/notes" },
    { server: "api", problem: "KEY is not set. Set it.", command: "wirescope check" },
    { server: "web", problem: "The url is of http.", command: "wirescope check" },
    {
      server: "down",
      problem: "Cannot reach it: nothing listens there. Check the port.",
      command: "wirescope why down",
    },
  ]);
});

describe("a problem", () => {
  test("says more than that the request was refused", () => {
    const message =
      'The server "api" refused the request. The server answered 401. The token in Authorization (from API_TOKEN) expired at 2026-03-01T09:00:00Z, 60 min ago.';
    expect(toDo("UNAUTHORIZED", message)?.problem).toBe(
      "The server answered 401. The token in Authorization (from API_TOKEN) expired at 2026-03-01T09:00:00Z, 60 min ago.",
    );
  });

  test("has the last words of a process, and not the PATH that was searched", () => {
    const died =
      'The server "api" (process 7) exited with code 3 before it answered. The last of its standard error: "Error: DATABASE_URL is required". Run the command by hand to see why.';
    expect(toDo("CHILD_EXITED", died)?.problem).toContain("DATABASE_URL is required");
    const missing = 'The server "api" cannot be started: nope was not found (PATH searched: /a:/b). Install it.';
    expect(toDo("CHILD_NOT_RUNNABLE", missing)?.problem).toBe(
      'The server "api" cannot be started: nope was not found. Install it.',
    );
  });

  test("ends with a sentence, before it is long", () => {
    const sentence = `${"words ".repeat(20)}end.`;
    const problem = toDo(
      "SERVER_FAILED",
      [sentence, sentence.toUpperCase(), sentence.toUpperCase()].join(" "),
    )?.problem;
    expect(problem?.length).toBeLessThan(260);
    expect(problem).toMatch(/\.$/i);
  });
});

describe("a command", () => {
  test("names the configuration, where the gateway was told which", () => {
    const named = createServerCommands({
      program: "wirescope",
      areNamed: true,
      isDemo: false,
      fileOf: () => "/srv/my servers.json",
    });
    expect(toDo("ENTRY_INVALID", "It is wrong.", named)?.command).toBe("wirescope check '/srv/my servers.json'");
    expect(toDo("UNAUTHORIZED", "Refused.", named)?.command).toBe("wirescope why api --config '/srv/my servers.json'");
    expect(toDo("NOT_TRUSTED", "New.", named)?.command).toBe("wirescope trust api --config '/srv/my servers.json'");
  });

  test("means the gateway, where its servers are those of the demonstration", () => {
    const demo = createServerCommands({
      program: "npx wirescope",
      areNamed: false,
      isDemo: true,
      fileOf: () => "/tmp/x",
    });
    expect(toDo("UNAUTHORIZED", "Refused.", demo)?.command).toBe("npx wirescope why api --endpoint");
  });
});
