import type { Server } from "@wirescope/gateway/admin";
import { objectLabel, objectPath, objectTitle, rolesOf } from "../../object-model/index.js";
import { navigate, openPanel } from "../routing/index.js";
import { openServerDialog, serverState, usesOAuth } from "../server-actions/index.js";
import { availableViews } from "../side-bar.js";
import { addCommands, type Command, chosenTime, isAdministrator, servers, snapshot } from "../store/index.js";

/** Adds the commands that are available in every view: the views themselves, the servers, and the objects. */
export function addShellCommands(): void {
  addCommands(() =>
    availableViews().map(({ title, patterns, key }) => ({
      id: `view ${title}`,
      title,
      group: "View",
      key: key === undefined ? undefined : `g ${key}`,
      run: () => navigate(patterns[0] ?? "/"),
    })),
  );
  addCommands(() => (servers.peek() ?? []).flatMap((server) => commandsOf(server)));
  // After the servers, so that a server is found before the channel of the same name.
  addCommands(objectCommands);
}

function objectCommands(): readonly Command[] {
  const { objects } = snapshot.peek() ?? {};
  if (objects === undefined) return [];
  const roles = rolesOf(objects);
  return [...objects.values()].map((object) => ({
    id: `object ${object.key}`,
    title: objectTitle(object, roles.get(object.key)),
    group: "Object",
    detail: [objectLabel(object), object.target].filter(Boolean).join(" "),
    run: () => openPanel(objectPath(object)),
  }));
}

function commandsOf(server: Server): readonly Command[] {
  const { name, target } = server;
  const { remedy } = serverState(server);
  const isSignedIn = server.authentication?.oauth?.signedIn === true;
  const command = (title: string, run: () => void): Command => ({ id: title, title, group: "Command", run });
  return [
    {
      id: `server ${name}`,
      title: name,
      group: "Server",
      detail: target,
      run: () => openPanel(`/servers/${encodeURIComponent(name)}`),
    },
    command(`Explain ${name}`, () => navigate(`/explain/${encodeURIComponent(name)}`)),
    ...(isAdministrator.peek() && chosenTime.peek() === undefined
      ? [
          ...(remedy === "approve" ? [command(`Approve ${name}`, () => openServerDialog("approve", name))] : []),
          ...(usesOAuth(server) ? [command(`Sign in to ${name}`, () => openServerDialog("sign in", name))] : []),
          ...(isSignedIn ? [command(`Sign out of ${name}`, () => openServerDialog("sign out", name))] : []),
        ]
      : []),
  ];
}
