import { expect, onTestFinished, test } from "vitest";
import { commandLine, setLoginOptions, setServerOptions } from "./command-line.js";

test("names the same servers and the same sign-ins in a command, each once, and only if the command takes them", () => {
  setServerOptions(["--config", "team.json"], ["--profile", "work"]);
  onTestFinished(() => setServerOptions([]));
  expect(commandLine("login", "notes")).toBe("wirescope login notes --config team.json --profile work");
  expect(commandLine("login", "notes", "--config", "a.json")).toBe(
    "wirescope login notes --config a.json --profile work",
  );
  expect(commandLine("login", "notes", "--profile", "work")).toBe(
    "wirescope login notes --profile work --config team.json",
  );
  // A server may have the name of the profile.
  expect(commandLine("login", "work")).toBe("wirescope login work --config team.json --profile work");
  expect(commandLine("tools", "--help")).toBe("wirescope tools --help");
  setLoginOptions(["--create-vault-key"]);
  expect(commandLine("login", "notes")).toBe(
    "wirescope login notes --config team.json --profile work --create-vault-key",
  );
  expect(commandLine("call", "notes")).toBe("wirescope call notes --config team.json --profile work");
  // It uses no tokens.
  expect(commandLine("trust", "notes")).toBe("wirescope trust notes --config team.json");
  expect(commandLine("up")).toBe("wirescope up");
  setServerOptions([], ["--profile", "work", "--vault", "file"]);
  expect(commandLine("login", "notes", "--profile", "work")).toBe("wirescope login notes --profile work --vault file");
  setServerOptions(["--endpoint"]);
  expect(commandLine("why", "notes")).toBe("wirescope why notes --endpoint");
  expect(commandLine("why", "notes", "--endpoint")).toBe("wirescope why notes --endpoint");
});
