import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { Button, Copy, ErrorNote, Section } from "../design/index.js";
import { closeRecording, openRecording, recording, recordingError } from "../shell/store/index.js";

/** Opens a recording, or shows which one is open. */
export function RecordingSection(): VNode {
  const input = useRef<HTMLInputElement>(null);
  const shown = recording.value;
  const open = (file: File | undefined): void => {
    if (file !== undefined) void openRecording(file);
  };
  return (
    <Section
      title="Recording"
      actions={
        <>
          {shown !== undefined && (
            <Button isSmall onClick={closeRecording}>
              Return to live
            </Button>
          )}
          <Button isSmall onClick={() => input.current?.click()}>
            Open a recording
          </Button>
        </>
      }
    >
      <input
        ref={input}
        type="file"
        class="visually-hidden"
        tabIndex={-1}
        aria-label="Recording"
        onChange={(event) => open(event.currentTarget.files?.[0])}
      />
      {shown === undefined ? (
        <p class="soft">
          Drop a recording anywhere on the page to view another time or machine. It is not uploaded. Create one with{" "}
          <Copy text="wirescope record recording.wsr" what="command" isShown />
        </p>
      ) : (
        <p>
          The page shows {shown.name}, from {new Date(shown.range.firstMs).toLocaleString()} to{" "}
          {new Date(shown.range.lastMs).toLocaleString()}.
        </p>
      )}
      {shown?.problem !== undefined && <ErrorNote error={shown.problem} />}
      {recordingError.value !== undefined && <ErrorNote error={recordingError.value} />}
    </Section>
  );
}
