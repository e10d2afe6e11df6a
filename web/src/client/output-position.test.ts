import { describe, expect, it } from 'vitest';
import { OutputPosition } from './output-position';

const attached = (offset: number) => ({ type: 'attached', offset, cols: 80, rows: 24 }) as const;

describe('OutputPosition', () => {
  it('is unknown before the first connection', () => {
    expect(new OutputPosition().offset).toBeNull();
  });

  it('counts output from the offset of the connection', () => {
    const position = new OutputPosition();
    position.control(attached(1000));
    position.bytes(10);
    position.bytes(5);
    expect(position.offset).toBe(1015);
  });

  it('does not count the bytes of a picture', () => {
    const position = new OutputPosition();
    position.control(attached(1000));
    position.control({ type: 'repaint', offset: 1200, bytes: 30 });
    expect(position.bytes(20)).toEqual({ picture: 20, pictureEnds: false });
    expect(position.offset).toBe(1000);
    expect(position.bytes(10)).toEqual({ picture: 10, pictureEnds: true });
    expect(position.offset).toBe(1200);
    position.bytes(7);
    expect(position.offset).toBe(1207);
  });

  it('splits a message that holds the end of a picture and output', () => {
    const position = new OutputPosition();
    position.control(attached(0));
    position.control({ type: 'repaint', offset: 500, bytes: 8 });
    expect(position.bytes(11)).toEqual({ picture: 8, pictureEnds: true });
    expect(position.offset).toBe(503);
  });

  it('continues where the daemon says after dropped output', () => {
    const position = new OutputPosition();
    position.control(attached(0));
    position.bytes(100);
    position.control({ type: 'lagged', offset: 5000, dropped: 3 });
    expect(position.offset).toBe(5000);
  });

  it('asks for a new picture if the connection was lost inside one', () => {
    const position = new OutputPosition();
    position.control(attached(0));
    position.control({ type: 'repaint', offset: 500, bytes: 8 });
    position.bytes(3);
    position.lost();
    expect(position.offset).toBeNull();
  });

  it('keeps its offset if the connection was lost between messages', () => {
    const position = new OutputPosition();
    position.control(attached(10));
    position.bytes(3);
    position.lost();
    expect(position.offset).toBe(13);
  });
});
