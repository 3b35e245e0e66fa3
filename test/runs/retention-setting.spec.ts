import { readEnvironment } from '../../src/config/read-environment.js';

describe('RETENTION_DAYS', () => {
  const read = (value?: string) =>
    readEnvironment(value === undefined ? {} : { RETENTION_DAYS: value }).options.retentionDays;

  it('AC-OFFICE-WORKER-007.2 AC-OFFICE-WORKER-007.3 is 30 unless said, a whole number of days, or off', () => {
    expect([read(), read('1'), read('99999'), read('off')]).toEqual([30, 1, 99_999, null]);
  });

  it.each(['0', '-1', '1.5', '100000', 'on', 'Off', '', ' 7', '1e3'])(
    'AC-OFFICE-WORKER-007.2 stops the start as %j',
    (value) => {
      expect(() => read(value)).toThrow(
        'RETENTION_DAYS must be off, or a whole number of days from 1 to 99999',
      );
    },
  );
});
