import type { VNode } from "preact";
import { ActionButton, StateMark, Time } from "../design/index.js";
import { capture, isAdministrator, setCapture } from "../shell/store/index.js";

/** Shows that arguments and results are captured, and lets an administrator stop it. */
export function CaptureNote(): VNode | null {
  const state = capture.value;
  if (state === undefined || !state.isOn) return null;
  return (
    <div class="calls-note calls-capture" role="status">
      <StateMark tone="waiting">Capture is on</StateMark>
      <span>
        The gateway keeps arguments and results of calls in memory
        {state.untilMs !== undefined && (
          <>
            {"; capture ends "}
            <Time ms={state.untilMs} />
          </>
        )}
        .
      </span>
      {isAdministrator.value && (
        <ActionButton isSmall run={() => setCapture(false)} busy="Deleting…">
          Stop and delete
        </ActionButton>
      )}
    </div>
  );
}

/** Turns the capture on, if the gateway was started with `--capture`. */
export function CaptureButton(): VNode | null {
  const state = capture.value;
  if (state === undefined || !state.isAllowed || state.isOn || !isAdministrator.value) return null;
  return (
    <ActionButton isSmall run={() => setCapture(true)} busy="Turning on…">
      Capture bodies
    </ActionButton>
  );
}
