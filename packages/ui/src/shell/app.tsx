import "./app.css";
import type { VNode } from "preact";
import { Copy, Empty, IsUnreachable, Loading, ShownMoment } from "../design/index.js";
import { DetailPanel } from "./detail-panel.js";
import { DropTarget } from "./drop-target.js";
import { Header } from "./header.js";
import { Palette } from "./palette/palette.js";
import { address, formatAddress } from "./routing/index.js";
import { ServerDialogs } from "./server-actions/index.js";
import { SideBar } from "./side-bar.js";
import { chosenTime, connection, lastHeardMs, missingTime, session, sessionState } from "./store/index.js";
import { TimeBar } from "./time-bar.js";
import { ViewHost } from "./view-host.js";

/** The frame around every view. */
export function App(): VNode {
  const { status } = sessionState.value;
  if (status === "signed out" && session.value === undefined) return <SignedOut />;
  if (status === "loading") {
    return (
      <div class="whole">
        <Loading what="Wirescope" />
      </div>
    );
  }
  const { path, query } = address.value;
  return (
    <IsUnreachable.Provider value={connection.value === "reconnecting"}>
      <div class={chosenTime.value === undefined ? "app" : "app app-past"}>
        <a class="skip-link" href="#view">
          Skip to content
        </a>
        <Header />
        <SideBar />
        <ShownMoment.Provider value={chosenTime.value}>
          <main id="view" class="view" tabIndex={-1}>
            <ConnectionNote />
            <MissingTimeNote />
            <ViewHost
              key={path}
              url={formatAddress({ path, query, panel: undefined, momentMs: undefined })}
              isPanel={false}
            />
          </main>
          <DetailPanel />
        </ShownMoment.Provider>
        <TimeBar />
        <Palette />
        <ServerDialogs />
        <DropTarget />
      </div>
    </IsUnreachable.Provider>
  );
}

function ConnectionNote(): VNode | null {
  const state = connection.value;
  if (state !== "reconnecting" && state !== "waiting") return null;
  const what = session.value?.kind === "target" ? "The process that serves this page" : "The gateway";
  return (
    <p class="connection-note" role="status">
      {state === "waiting"
        ? "Other windows with this page use all connections that the browser allows. This one continues when you close or hide another."
        : `${what} has not responded since ${new Date(lastHeardMs.value).toLocaleTimeString()}. Reconnecting…`}
    </p>
  );
}

function MissingTimeNote(): VNode | null {
  if (missingTime.value === undefined) return null;
  return (
    <p class="connection-note" role="status">
      {new Date(missingTime.value).toLocaleString()} is not kept. The page shows now.
    </p>
  );
}

function SignedOut(): VNode {
  return (
    <main class="whole">
      <Empty title="This browser has no valid link to the page.">
        <p>Each link works once. Print a new one on the gateway's machine, and open it here:</p>
        <Copy text="wirescope page" what="command" isShown />
        <p>If the page is served by wirescope page --target, restart that command: it prints a new link.</p>
      </Empty>
    </main>
  );
}
