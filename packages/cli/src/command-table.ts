import { addCommand, importCommand } from "./commands/add.js";
import { authCommand } from "./commands/auth.js";
import { bridgeCommand } from "./commands/bridge.js";
import { callCommand } from "./commands/call.js";
import { checkCommand } from "./commands/check.js";
import type { Command } from "./commands/command.js";
import { defineCompletionCommand } from "./commands/completion.js";
import { conformCommand } from "./commands/conform.js";
import { debugCommand, reconnectCommand, reloadCommand } from "./commands/gateway-commands.js";
import { diffCommand, recordCommand, replayCommand } from "./commands/history-commands.js";
import { inputsCommand } from "./commands/inputs.js";
import { installCommand } from "./commands/install.js";
import { explainCommand, exportCommand, topCommand, watchCommand } from "./commands/live-commands.js";
import { loginCommand, logoutCommand } from "./commands/login.js";
import { pageCommand } from "./commands/page.js";
import { pingCommand } from "./commands/ping.js";
import { promptsCommand } from "./commands/prompts.js";
import {
  channelsCommand,
  findCommand,
  serversCommand,
  showCommand,
  socketsCommand,
  summaryCommand,
  treeCommand,
} from "./commands/read-commands.js";
import { resourcesCommand } from "./commands/resources.js";
import { statusCommand } from "./commands/status.js";
import { toolsCommand } from "./commands/tools.js";
import { trustCommand } from "./commands/trust.js";
import { demoCommand, upCommand } from "./commands/up.js";
import { whyCommand } from "./commands/why.js";

/** Commands that belong together in the help. */
interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
}

/** Every command, in the order of the help. */
export const commandGroups: readonly CommandGroup[] = [
  {
    title: "The gateway",
    commands: [upCommand, demoCommand, statusCommand, pageCommand, reconnectCommand, reloadCommand, debugCommand],
  },
  {
    title: "Servers and their tools",
    commands: [
      toolsCommand,
      callCommand,
      resourcesCommand,
      promptsCommand,
      pingCommand,
      whyCommand,
      loginCommand,
      logoutCommand,
      authCommand,
    ],
  },
  {
    title: "Configuration",
    commands: [
      addCommand,
      importCommand,
      checkCommand,
      trustCommand,
      inputsCommand,
      installCommand,
      bridgeCommand,
      defineCompletionCommand(() => commands),
    ],
  },
  {
    title: "Any process that serves Channelz",
    commands: [
      summaryCommand,
      explainCommand,
      channelsCommand,
      serversCommand,
      socketsCommand,
      showCommand,
      treeCommand,
      findCommand,
      topCommand,
      watchCommand,
      recordCommand,
      replayCommand,
      diffCommand,
      exportCommand,
      conformCommand,
    ],
  },
];

/** All commands in one list. */
export const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands);
